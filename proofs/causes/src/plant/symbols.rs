//! Finds the names of the kernel's functions by address.

/// Addresses and names of functions, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads the names from the kernel. There are none if the kernel hides its addresses.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut all: Vec<(u64, String)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
                let kind = words.next()?;
                matches!(kind, "t" | "T" | "w" | "W").then(|| (address, words.next().unwrap_or("").to_owned()))
            })
            .collect();
        all.sort();
        Self(all)
    }

    /// The function that begins at this address; `-` if it is unknown.
    pub fn name(&self, address: u64) -> &str {
        let found = self.0.binary_search_by_key(&address, |(at, _)| *at);
        found.ok().and_then(|at| self.0.get(at)).map_or("-", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_where_they_begin() {
        let symbols = Symbols::parse("ffff20 t late\nffff10 T early\n0 t hidden\nffff18 d data\n");
        assert_eq!(symbols.name(0x00ff_ff10), "early");
        assert_eq!(symbols.name(0x00ff_ff20), "late");
        assert_eq!(symbols.name(0x00ff_ff18), "-");
        assert_eq!(symbols.name(0), "-");
    }
}
