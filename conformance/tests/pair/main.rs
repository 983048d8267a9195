//! Two endpoints over a faulty link: whatever it does, what must hold holds.

mod basics;
