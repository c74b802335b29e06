//! Writes protocol buffers: each field is its number and wire type, then its value. The program writes few messages and
//! reads none, so a crate that generates code from schemas would save nothing.

#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A field that is a number, or an enum.
    pub fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    pub fn text(&mut self, field: u32, value: &str) {
        self.delimited(field, value.as_bytes());
    }

    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.delimited(field, &inner.0);
    }

    fn delimited(&mut self, field: u32, value: &[u8]) {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}
