//! Tests of the whole loader.

mod broken;
mod catalogue;
mod fuzz;
mod good;
mod manual;
