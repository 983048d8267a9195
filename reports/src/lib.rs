//! What a run of rocespec found, as plain data, and the forms in which people and programs read it.
//!
//! [`outcome`] holds the data of a run, [`defects`] what the suite notices of deliberate defects; nothing in this crate ever sees a device.
//!
//! | form | module | read by |
//! |---|---|---|
//! | text | [`terminal`] | people |
//! | JSON | [`json`] | programs; `docs/report-schema.md` describes it |
//! | JUnit XML | [`junit`] | CI servers |
//! | Markdown | [`markdown`] | people who meet several reports on a code-hosting site |
//! | HTML | [`html`] | people, with the packets before their eyes |
//! | a folder with all of them | [`folder`] | whoever gets the evidence |
//!
//! Every form is a pure function of the [`outcome::Run`]: the same run gives the same bytes, today and tomorrow.
//!
//! [`sweep`] holds what a sweep measured; [`terminal::sweep`], [`html::write_sweep`], [`sweep::write_csv`] and
//! [`folder::write_sweep`] are its forms, and its JSON is what `docs/sweep-schema.md` describes.
//!
//! [`examination`] holds what was found in captures; [`terminal::examination`], [`html::write_examination`] and
//! [`folder::write_examination`] are its forms, and its JSON is exactly what `docs/check-schema.md` describes.

mod bytes;
mod cause;
pub mod claim;
pub mod defects;
mod evidence;
pub mod examination;
pub mod folder;
mod golden;
pub mod html;
pub mod interop;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod outcome;
#[cfg(test)]
mod sample;
mod statistics;
pub mod sweep;
pub mod terminal;
mod text;
