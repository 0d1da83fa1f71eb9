//! A small stable digest (FNV-1a, 64 bit) to notice change. It is written to disk, so unlike the
//! standard library's hasher it may never change; it protects against accidents, not attackers.

#[must_use]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Digest {
    pub fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// Adds one field. Its length goes in too, so that ("ab", "c") and ("a", "bc") differ.
    pub fn field(mut self, bytes: &[u8]) -> Self {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    pub fn finish(self) -> u64 {
        self.0
    }
}
