//! What is changed step by step, and the values that it takes.

use std::str::FromStr;

use rocespec_reports::sweep::What;

use crate::link::Rate;

/// Most values of a sweep.
const MOST_VALUES: usize = 20;
/// Beyond this share nothing is sent any more that is worth a measurement.
const HIGHEST: Rate = Rate::percent(50);
/// Most senders to one receiver.
pub const MOST_SENDERS: u32 = 64;

/// What is changed step by step, and the values that it takes, in ascending order, each once. Of shares 0 is always among
/// them: what is measured there is what the others are held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// A fault of the cable.
    Share(Fault, Vec<Rate>),
    /// Senders to one receiver.
    Incast(Vec<u32>),
}

/// A fault of the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Frames are lost.
    Loss,
    /// Frames arrive behind later ones.
    Reorder,
    /// Packets are marked as having met congestion.
    Ce,
}

/// One value of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// How often a fault happens.
    Share(Fault, Rate),
    /// Senders.
    Senders(u32),
}

impl Axis {
    /// What is changed.
    pub fn what(&self) -> What {
        match self {
            Axis::Share(Fault::Loss, _) => What::Loss,
            Axis::Share(Fault::Reorder, _) => What::Reorder,
            Axis::Share(Fault::Ce, _) => What::Ce,
            Axis::Incast(_) => What::Incast,
        }
    }

    /// Its values.
    pub fn values(&self) -> Vec<Value> {
        match self {
            Axis::Share(fault, rates) => rates.iter().map(|rate| Value::Share(*fault, *rate)).collect(),
            Axis::Incast(senders) => senders.iter().map(|senders| Value::Senders(*senders)).collect(),
        }
    }
}

impl Value {
    /// As a number: a share from 0 to 1, or how many senders.
    pub fn number(self) -> f64 {
        match self {
            Value::Share(_, rate) => f64::from(rate.get()) / f64::from(Rate::ALWAYS.get()),
            Value::Senders(senders) => f64::from(senders),
        }
    }
}

impl FromStr for Axis {
    type Err = String;

    /// `loss=0,1e-5,0.1%`, and so `reorder` and `ce`; `incast=1,2,4`.
    fn from_str(text: &str) -> Result<Axis, String> {
        let (name, list) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} names no values; write loss=0,1e-5,1e-4,1e-3,1e-2 or incast=1,2,4,8"))?;
        let words: Vec<&str> = list.split(',').map(str::trim).collect();
        if words.len() > MOST_VALUES {
            return Err(format!("{} values are too many; {MOST_VALUES} at most", words.len()));
        }
        let fault = match name {
            "loss" => Fault::Loss,
            "reorder" => Fault::Reorder,
            "ce" => Fault::Ce,
            "incast" => return Ok(Axis::Incast(sorted(words.iter().map(|word| senders(word)))?)),
            _ => return Err(format!("{name:?} cannot be swept; take loss, reorder, ce or incast")),
        };
        let rates = words.iter().map(|word| rate(word)).chain([Ok(Rate::NEVER)]);
        Ok(Axis::Share(fault, sorted(rates)?))
    }
}

fn sorted<T: Ord>(values: impl Iterator<Item = Result<T, String>>) -> Result<Vec<T>, String> {
    let mut values = values.collect::<Result<Vec<T>, String>>()?;
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

fn rate(word: &str) -> Result<Rate, String> {
    match word.parse::<Rate>()? {
        rate if rate > HIGHEST => Err(format!("{word} is too much; shares go from 0 to 0.5")),
        rate => Ok(rate),
    }
}

fn senders(word: &str) -> Result<u32, String> {
    let count = word.parse::<u32>().ok().filter(|count| (1..=MOST_SENDERS).contains(count));
    count.ok_or_else(|| format!("{word:?} is no number of senders; take 1 to {MOST_SENDERS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<f64> {
        text.parse::<Axis>().unwrap().values().into_iter().map(Value::number).collect()
    }

    #[test]
    fn shares_are_read_in_every_form_and_zero_is_among_them() {
        assert_eq!(numbers("loss=1e-2,1e-5, 0.1%,1e-2"), [0.0, 1e-5, 1e-3, 1e-2]);
        assert_eq!(numbers("ce=0,0.5"), [0.0, 0.5]);
        assert_eq!(numbers("incast=8,1,2"), [1.0, 2.0, 8.0]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| text.parse::<Axis>().unwrap_err();
        assert!(error("loss").contains("write loss=0,1e-5"));
        assert!(error("delay=1").contains("take loss, reorder, ce or incast"));
        assert!(error("loss=x").contains("write 0.01, 1e-2 or 1%"));
        assert!(error("loss=1e-7").contains("parts per million"));
        assert!(error("loss=0.6").contains("0 to 0.5"));
        assert!(error("incast=0").contains("1 to 64"));
        assert!(error("incast=65").contains("1 to 64"));
        assert!(error("loss=").contains("no share"));
        assert!(error(&format!("loss={}", ["0"; 21].join(","))).contains("20 at most"));
    }
}
