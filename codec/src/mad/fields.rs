//! The macro that makes a message of its table.

/// A struct with a member for each field, and the table of their places: `name: Type = byte / bit, bits`, where bit 0 is
/// the highest of its byte; and `[name] = from..to` for bytes that are kept as they are.
macro_rules! message {
    (
        $(#[$doc:meta])*
        $name:ident[$size:expr] {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $byte:literal / $bit:literal, $len:literal;)*
        } bytes {
            $($(#[$bytes_doc:meta])* [$bytes:ident] = $from:literal..$to:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            $($(#[$bytes_doc])* pub $bytes: [u8; $to - $from],)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name::read(&[0; $size])
            }
        }

        impl $name {
            /// Its fields, in wire order.
            pub const FIELDS: &[MadField] = &[
                $(MadField {
                    name: stringify!($field),
                    kind: <$type as Bits>::SHAPE.kind($len),
                    at: $byte * 8 + $bit,
                    len: $len,
                },)*
                $(MadField { name: stringify!($bytes), kind: crate::field::Kind::Bytes, at: $from * 8, len: ($to - $from) * 8 },)*
            ];

            /// Reads every field.
            pub fn read(data: &[u8; $size]) -> Self {
                $name {
                    $($field: Bits::from_bits(bits::get(data, $byte * 8 + $bit, $len)),)*
                    $($bytes: data[$from..$to].try_into().expect("as long as it is"),)*
                }
            }

            /// Writes every field, and leaves the reserved bits as they are: over what was read, they keep their values.
            pub fn write(&self, data: &mut [u8; $size]) {
                $(bits::set(data, $byte * 8 + $bit, $len, Bits::bits(self.$field));)*
                $(data[$from..$to].copy_from_slice(&self.$bytes);)*
            }
        }
    };
}

pub(super) use message;
