//! Any text: what is understood prints as a line that stands for the same packet, and expects it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::RKey;
use rocespec_codec::notation::{Line, Region, Scope, parse, parse_pattern, print};

fuzz_target!(|line: &str| {
    let regions = [Region { name: "mr", va: 0x7f00_0000_0000, len: 4096, rkey: RKey::new(0xabcd01) }];
    let scope = Scope { regions: &regions, ..Scope::default() };
    let (mut first, mut second, mut third) = ([0; 4096], [0; 4096], [0; 4096]);
    // Patterns take words that packets do not.
    let _ = parse_pattern(line, &scope, &mut third);
    let Ok(Line::Roce(packet)) = parse(line, &scope, &mut first) else { return };
    let printed = print(&packet, &scope).to_string();
    assert_eq!(parse(&printed, &scope, &mut second), Ok(Line::Roce(packet.clone())), "{printed}");
    let pattern = parse_pattern(&printed, &scope, &mut third).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert_eq!(pattern.mismatch(&packet).map(|wrong| wrong.to_string()), None, "{printed}");
});
