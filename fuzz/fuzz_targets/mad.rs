//! Any bytes as a management datagram: what is read of it writes the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::mad::{DATA_LEN, Mad};

fuzz_target!(|bytes: &[u8]| {
    let Some(mad) = Mad::read(bytes) else { return };
    let mut out = vec![0; bytes.len()];
    assert_eq!(mad.encode(&mut out).unwrap(), bytes);
    let Some(message) = mad.message() else { return };
    // Reserved bits are those that were there.
    let mut data: [u8; DATA_LEN] = mad.data.try_into().expect("a message has its length");
    message.write(&mut data);
    assert_eq!(data, mad.data);
    let again = message.data();
    assert_eq!(Mad::cm(mad.transaction, message.attribute(), &again).message(), Some(message));
    for field in message.fields() {
        assert!(field.get(&data).is_some(), "{field:?}");
    }
});
