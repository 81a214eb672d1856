//! Which of two ways a transport had better go on these hosts.

use super::probe::{What, buffer_bytes, scripts};
use crate::communicator::Trial;
use crate::measure::slowest;
use crate::{Buffer, Communicator, Fault, Transport, Tuning};

use super::Timed;
use super::stream::Age;

/// How often each way is gone; the quickest time counts, as others disturb.
const ROUNDS: usize = 3;
/// Messages by which it is found whether parts go past the caches; a quarter of the first for which they had better is
/// where that begins.
const MESSAGES: [usize; 2] = [4 << 10, 64 << 10];
/// Bytes that are moved in a measurement about.
const MOVED: usize = 128 << 10;
/// The shortest messages that the system may read where nothing more is known of a call.
const READ_FROM: usize = 2 << 20;
/// Past the caches may take so much of the time of the other way: where it is the worse way it is so by little, and in a
/// virtual machine, whose processors move, what is measured now need not hold later.
const STREAMED: f64 = 1.2;
/// The system may take so much of it.
const READ: f64 = 0.95;

/// Finds it and goes so from now on; nothing where the transport has no choice. All ranks find the same.
///
/// What one processor has just written another one reads from its cache, which on some processors takes several times
/// as long as to read it from memory. And what the system copies from one process to another is copied once, but small
/// page by small page.
pub(crate) fn tune<T: Transport>(communicator: &mut Communicator<T>) -> Result<Option<Tuning>, Fault> {
    if communicator.transport().tuning().is_none() {
        return Ok(None);
    }
    let mut best =
        Tuning { streamed_from_bytes: usize::MAX, direct_from_bytes: usize::MAX, registered_from_bytes: 0 };
    for bytes in MESSAGES {
        let tried = Tuning { streamed_from_bytes: bytes / 4, ..best };
        let what = What::Both { bytes, message: bytes, combines: true };
        if ratio(communicator, &[what], (best, tried))? < STREAMED {
            best = tried;
            break;
        }
    }
    if communicator.transport().shape().direct_up_to_bytes > 0 {
        let tried = Tuning { direct_from_bytes: READ_FROM, ..best };
        let read = |age| What::Read { bytes: READ_FROM, combines: true, age, registered: false };
        if ratio(communicator, &[read(Age::Old), read(Age::PassedOn)], (best, tried))? < READ {
            best = tried;
        }
    }
    communicator.tune_to(best);
    Ok(Some(best))
}

/// What all of it takes in the second way, by what it takes in the first.
fn ratio<T: Transport>(
    communicator: &mut Communicator<T>,
    whats: &[What],
    (first, second): (Tuning, Tuning),
) -> Result<f64, Fault> {
    let (mut first_s, mut second_s) = (0.0, 0.0);
    for what in whats {
        let times_s = times(communicator, *what, [first, second])?;
        (first_s, second_s) = (first_s + times_s[0], second_s + times_s[1]);
    }
    Ok(second_s / first_s.max(f64::MIN_POSITIVE))
}

/// What a probe takes in each way, in seconds.
fn times<T: Transport>(
    communicator: &mut Communicator<T>,
    what: What,
    ways: [Tuning; 2],
) -> Result<[f64; 2], Fault> {
    let scripts = scripts(what, communicator.ranks());
    let bytes = buffer_bytes(what);
    let filled = || {
        let mut memory = Buffer::private(bytes);
        memory.fill(1);
        memory
    };
    let (input, mut output) = (filled(), filled());
    let text = format!("tuning by {what:?}");
    let script = &scripts[communicator.rank().index()];
    let mut trial = Trial::new(script, &text, (&input, &mut output));
    let calls = u32::try_from(MOVED / bytes.max(1)).unwrap_or(1).max(1);
    let mut least_s = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (way, least_s) in ways.iter().zip(&mut least_s) {
            communicator.tune_to(*way);
            trial.run(communicator, Timed::All, 1)?;
            let own_s = trial.run(communicator, Timed::All, calls)?;
            *least_s = least_s.min(slowest(communicator, own_s)?);
        }
    }
    Ok(least_s)
}
