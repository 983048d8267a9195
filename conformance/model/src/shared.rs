//! Objects that are nothing but a number that other objects share: protection domains and XRC domains.

use alloc::collections::BTreeMap;

use crate::verbs::VerbError;

/// Numbers of one kind of object, each with the count of those that use it. Numbers count up and are not used again.
#[derive(Debug)]
pub(crate) struct Shared {
    users: BTreeMap<u32, u32>,
    next: u32,
}

impl Shared {
    /// None yet. They count from 1: number 0 is the default protection domain.
    pub(crate) fn new() -> Shared {
        Shared { users: BTreeMap::new(), next: 1 }
    }

    pub(crate) fn create(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        self.users.insert(number, 0);
        number
    }

    pub(crate) fn check(&self, number: u32) -> Result<(), VerbError> {
        if self.users.contains_key(&number) { Ok(()) } else { Err(VerbError::NoSuchObject) }
    }

    /// One more uses it.
    pub(crate) fn hold(&mut self, number: u32) {
        if let Some(users) = self.users.get_mut(&number) {
            *users += 1;
        }
    }

    /// One less uses it.
    pub(crate) fn release(&mut self, number: u32) {
        if let Some(users) = self.users.get_mut(&number) {
            *users = users.saturating_sub(1);
        }
    }

    /// Takes it away, when nobody uses it.
    pub(crate) fn destroy(&mut self, number: u32) -> Result<(), VerbError> {
        match self.users.get(&number) {
            None => Err(VerbError::NoSuchObject),
            Some(0) => {
                self.users.remove(&number);
                Ok(())
            }
            Some(_) => Err(VerbError::InUse),
        }
    }
}
