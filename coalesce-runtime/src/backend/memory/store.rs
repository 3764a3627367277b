//! The cells of all keys, and how those that have expired go away.

use std::collections::HashMap;

use crate::engine::cell::Cell;
use crate::words::clock::ServerTime;
use crate::words::key::Key;

/// A cell for every key that has a lock or a state.
#[derive(Default)]
pub(super) struct Store {
    cells: HashMap<Key, Cell>,
    /// Questions until the next sweep.
    until_sweep: usize,
}

/// Below this many cells a sweep saves nothing.
const FEW: usize = 64;

impl Store {
    /// Asks the cell of `key`, which is there for the asking and gone again when nothing is left in it.
    pub(super) fn ask<A>(
        &mut self,
        key: &Key,
        now: ServerTime,
        ask: impl FnOnce(&mut Cell) -> A,
    ) -> A {
        self.sweep_in_its_turn(now);
        let mut cell = self.cells.remove(key).unwrap_or_default();
        let answer = ask(&mut cell);
        if !cell.is_empty() {
            self.cells.insert(key.clone(), cell);
        }
        answer
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// A sweep looks at every cell, and comes after as many questions as the last one left cells. So a
    /// question pays for two cells at most, and the map is never more than twice what was alive.
    fn sweep_in_its_turn(&mut self, now: ServerTime) {
        if self.until_sweep > 0 {
            self.until_sweep -= 1;
            return;
        }
        self.cells.retain(|_, cell| {
            cell.expire(now);
            !cell.is_empty()
        });
        self.until_sweep = self.cells.len().max(FEW);
        self.cells.shrink_to(2 * self.until_sweep);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::ask::BeginAsk;
    use crate::words::token::Token;

    const SECOND: Duration = Duration::from_secs(1);
    const START: ServerTime = ServerTime::from_micros(1_000_000);

    fn begin(store: &mut Store, number: usize, now: ServerTime) {
        let ask = BeginAsk {
            token: Token::random(),
            lease: SECOND,
            seen: None,
            following: None,
            trace: None,
        };
        store.ask(&Key::new("n", &[&number]), now, |cell| {
            cell.begin(now, &ask)
        });
    }

    #[test]
    fn a_key_with_nothing_left_has_no_cell() {
        let mut store = Store::default();
        let key = Key::new("n", &[]);
        store.ask(&key, START, |cell| cell.read(START));
        assert_eq!(store.len(), 0);
    }

    #[test]
    fn keys_asked_once_leave_at_most_twice_the_cells_that_are_alive() {
        let mut store = Store::default();
        for number in 0..50_000 {
            // 1,000 keys a second, each for a second.
            let now = START.plus(Duration::from_millis(number as u64));
            begin(&mut store, number, now);
            assert!(store.len() <= 2_002, "{} cells at {number}", store.len());
        }
    }

    #[test]
    fn after_a_burst_the_cells_go_with_the_next_questions_however_few_their_keys() {
        let mut store = Store::default();
        for number in 0..10_000 {
            begin(&mut store, number, START);
        }
        for _ in 0..20_000 {
            begin(&mut store, 0, START.plus(2 * SECOND));
        }
        assert_eq!(store.len(), 1);
        assert!(
            store.cells.capacity() < 300,
            "{} places",
            store.cells.capacity()
        );
    }
}
