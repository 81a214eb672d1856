//! The queue of what will happen at a known time: a radix heap. No entry is ever earlier than the last one taken,
//! so an entry lies in the bucket of the highest bit in which its time differs from that one, and entries of one time
//! come out together.

/// What happens: latencies of flows pass or lone flows end, or a timer wakes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub time: u64,
    pub place: u32,
    /// How many flows, of which this is the first place; `TIMER` if it is a timer.
    pub count: u32,
}

/// The count of a timer.
pub(super) const TIMER: u32 = u32::MAX;

const BUCKETS: usize = 65;

pub(super) struct Queue {
    buckets: [Vec<Entry>; BUCKETS],
    /// One bit for each bucket that holds something, but the first.
    filled: u64,
    /// The time that buckets are relative to.
    taken: u64,
    earliest: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| Vec::new()), filled: 0, taken: 0, earliest: u64::MAX }
    }
}

impl Queue {
    /// The time of the earliest entry; `u64::MAX` if there is none.
    pub fn earliest(&self) -> u64 {
        self.earliest
    }

    pub fn push(&mut self, entry: Entry) {
        self.earliest = self.earliest.min(entry.time);
        let bucket = self.bucket(entry.time);
        if let Some(last) = bucket.last_mut() {
            // As where many begin at once: places side by side are one entry.
            if last.time == entry.time && last.place.wrapping_add(last.count) == entry.place {
                if last.count != TIMER && entry.count != TIMER {
                    last.count += entry.count;
                    return;
                }
            }
        }
        bucket.push(entry);
    }

    /// Where entries of this time are.
    fn bucket(&mut self, time: u64) -> &mut Vec<Entry> {
        let bucket = 64 - (time ^ self.taken).leading_zeros();
        if bucket > 0 {
            self.filled |= 1 << (bucket - 1);
        }
        &mut self.buckets[bucket as usize]
    }

    /// Moves all entries of the earliest time into `entries`.
    pub fn take(&mut self, entries: &mut Vec<Entry>) {
        entries.clear();
        if self.earliest == u64::MAX {
            return;
        }
        if self.buckets[0].is_empty() {
            self.spread();
        }
        std::mem::swap(entries, &mut self.buckets[0]);
        self.earliest = self.lowest_bucket().map_or(u64::MAX, |bucket| self.earliest_of(bucket));
    }

    fn lowest_bucket(&self) -> Option<usize> {
        (self.filled != 0).then(|| self.filled.trailing_zeros() as usize + 1)
    }

    fn earliest_of(&self, bucket: usize) -> u64 {
        self.buckets[bucket].iter().map(|entry| entry.time).min().unwrap_or(u64::MAX)
    }

    /// Spreads the lowest bucket over those below it, relative to its earliest entry.
    fn spread(&mut self) {
        let Some(bucket) = self.lowest_bucket() else { return };
        self.taken = self.earliest;
        self.filled &= !(1 << (bucket - 1));
        if self.buckets[bucket].iter().all(|entry| entry.time == self.earliest) {
            // As where many begin at once; the first one is empty.
            return self.buckets.swap(0, bucket);
        }
        let mut entries = std::mem::take(&mut self.buckets[bucket]);
        for entry in entries.drain(..) {
            self.bucket(entry.time).push(entry);
        }
        self.buckets[bucket] = entries;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_side_by_side_are_one_entry_and_timers_are_not() {
        let mut queue = Queue::default();
        for (place, count) in [(3, 1), (4, 1), (5, TIMER), (4, 1), (5, 1), (6, TIMER), (7, TIMER)] {
            queue.push(Entry { time: 9, place, count });
        }
        let mut entries = Vec::new();
        queue.take(&mut entries);
        let taken: Vec<(u32, u32)> = entries.iter().map(|entry| (entry.place, entry.count)).collect();
        assert_eq!(taken, [(3, 2), (5, TIMER), (4, 2), (6, TIMER), (7, TIMER)]);
    }

    #[test]
    fn entries_come_in_the_order_of_time_and_those_of_one_time_together() {
        let mut queue = Queue::default();
        let mut state = 1_u64;
        let mut waiting = Vec::new();
        let (mut now, mut entries) = (0, Vec::new());
        for round in 0..2000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let time = now + (state >> 33) % (1 << (state >> 59));
            queue.push(Entry { time, place: round, count: 1 });
            waiting.push((time, round));
            if round % 3 == 2 {
                let earliest = waiting.iter().map(|entry| entry.0).min().unwrap();
                assert_eq!(queue.earliest(), earliest);
                queue.take(&mut entries);
                now = earliest;
                let places = entries.iter().flat_map(|entry| entry.place..entry.place + entry.count);
                let mut places: Vec<u32> = places.collect();
                places.sort_unstable();
                let of_time = waiting.iter().filter(|entry| entry.0 == earliest).map(|entry| entry.1);
                assert_eq!(places, of_time.collect::<Vec<_>>());
                waiting.retain(|entry| entry.0 != earliest);
            }
        }
    }
}
