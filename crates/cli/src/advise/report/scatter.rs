//! Candidates by cost and time, each as large as its power.

use std::collections::BTreeMap;

use weft_advisor::advice::{Advice, Choice, Standing};

use super::number;
use crate::advise::text;
use crate::page;
use crate::picture::{Anchor, Area, Picture, Pixels, Scale, text_width};
use crate::train::span;

const WIDTH: Pixels = 1000.0;
const TOP: Pixels = 20.0;
const LEFT: Pixels = 70.0;
/// Where the plot ends, and the strip of those without a price begins.
const RIGHT: Pixels = 850.0;
const STRIP: (Pixels, Pixels) = (874.0, 984.0);
const BOTTOM: Pixels = 400.0;
/// Of the one that draws most; areas are as powers.
const LARGEST: Pixels = 17.0;
const LEAST: Pixels = 3.5;
const LETTERS: Pixels = 11.0;
/// Names that a mark of several says.
const MOST_NAMES: usize = 6;

/// The picture with its heading; nothing where no time is known.
pub(super) fn section(advice: &Advice) -> String {
    let Some(plot) = Plot::new(advice) else { return String::new() };
    let lead = "Further left is cheaper, further down is quicker, and the larger a disc, the more it draws. The line joins \
                those that nobody beats in price and time; who stands off it is there for its power.";
    page::section("Cost, time and power", lead, &page::picture(&plot.drawn(), "fit"))
}

/// What is drawn.
struct Plot<'a> {
    front: Vec<&'a Choice>,
    others: Vec<&'a Choice>,
    cost: Option<Scale>,
    time: Scale,
    most_watts: f64,
    /// Whether the times are days of a whole run.
    is_run: bool,
}

/// Days of a run or seconds of a step.
fn value(choice: &Choice) -> Option<f64> {
    let seconds = choice.seconds()?;
    Some(choice.run.map_or(seconds, |run| run.days))
}

/// The price, where all of it is known.
fn cost(choice: &Choice) -> Option<f64> {
    choice.is_priced().then(|| choice.bill.cost.as_units()).filter(|cost| *cost > 0.0)
}

impl<'a> Plot<'a> {
    fn new(advice: &'a Advice) -> Option<Self> {
        let timed = advice.choices.iter().filter(|choice| value(choice).is_some());
        let (front, others): (Vec<_>, Vec<_>) = timed.partition(|choice| choice.standing == Standing::Front);
        let all = || front.iter().chain(&others).copied();
        let time = Scale::of(all().filter_map(value))?;
        let cost = Scale::of(all().filter_map(cost));
        let most_watts = all().map(|choice| choice.bill.power.as_watts()).fold(0.0, f64::max);
        let is_run = all().any(|choice| choice.run.is_some());
        Some(Self { front, others, cost, time, most_watts, is_run })
    }

    fn y(&self, value: f64) -> Pixels {
        BOTTOM - (BOTTOM - TOP) * self.time.share(value)
    }

    /// Where a candidate with a price stands.
    fn place(&self, choice: &Choice) -> Option<(Pixels, Pixels)> {
        let x = LEFT + (RIGHT - LEFT) * self.cost?.share(cost(choice)?);
        Some((x, self.y(value(choice)?)))
    }

    fn radius(&self, choice: &Choice) -> Pixels {
        let share = choice.bill.power.as_watts() / self.most_watts.max(f64::MIN_POSITIVE);
        (LARGEST * share.sqrt()).max(LEAST)
    }

    fn drawn(&self) -> String {
        let mut picture = Picture::default();
        self.axes(&mut picture);
        self.strip(&mut picture);
        // The largest first, so that none is hidden.
        let mut others: Vec<&Choice> = self.others.clone();
        others.sort_by(|a, b| b.bill.power.as_watts().total_cmp(&a.bill.power.as_watts()));
        for choice in others {
            let Some(at) = self.place(choice) else { continue };
            picture.disc(class(choice), at, self.radius(choice), &words(choice));
        }
        self.line(&mut picture);
        for choice in &self.front {
            let Some(at) = self.place(choice) else { continue };
            picture.disc("forward", at, self.radius(choice), &words(choice));
        }
        self.labels(&mut picture);
        let entries =
            [("forward", "nobody beats it"), ("open", "a price or a time is missing"), ("rest", "loses")];
        let height = picture.legend((LEFT, BOTTOM + 46.0), RIGHT - LEFT, &entries);
        picture.finish(WIDTH, BOTTOM + 46.0 + height + 6.0, "Candidates by cost, time and power")
    }

    fn axes(&self, picture: &mut Picture) {
        let width = RIGHT - LEFT;
        picture.area("lane", Area { x: LEFT, y: TOP, width, height: BOTTOM - TOP }, "");
        for tick in self.time.ticks(6) {
            let label = if self.is_run { format!("{} d", short(tick)) } else { span(tick) };
            let y = self.y(tick);
            picture.line("", (LEFT, y), (RIGHT, y));
            picture.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &label);
        }
        let title = if self.is_run { "days of the whole run" } else { "time of a step" };
        picture.text("ink", (LEFT, TOP - 7.0), Anchor::Start, title);
        let mut before = f64::MIN;
        for tick in self.cost.map_or_else(Vec::new, |cost| cost.ticks(7)) {
            let Some(scale) = self.cost else { continue };
            let (x, label) = (LEFT + width * scale.share(tick), short(tick));
            let half = text_width(&label, LETTERS) / 2.0;
            picture.line("", (x, BOTTOM), (x, BOTTOM + 5.0));
            if x - half > before + 6.0 {
                picture.text("", (x, BOTTOM + 18.0), Anchor::Middle, &label);
                before = x + half;
            }
        }
        let currency = self.front.iter().chain(&self.others).find(|choice| cost(choice).is_some());
        let title = currency.map_or_else(
            || "nobody has a price".to_owned(),
            |choice| format!("cost, {}", choice.bill.cost.currency().word()),
        );
        picture.text("ink", (RIGHT, BOTTOM + 34.0), Anchor::End, &title);
    }

    /// Those without a price, by their time alone: what is at one height is one mark.
    fn strip(&self, picture: &mut Picture) {
        let mut marks: BTreeMap<i64, Vec<&Choice>> = BTreeMap::new();
        for choice in self.others.iter().filter(|choice| cost(choice).is_none()) {
            let Some(value) = value(choice) else { continue };
            #[expect(clippy::cast_possible_truncation, reason = "heights are within the picture")]
            let height = (self.y(value) / 3.0).round() as i64;
            marks.entry(height).or_default().push(choice);
        }
        if marks.is_empty() {
            return;
        }
        let (x, width) = (STRIP.0, STRIP.1 - STRIP.0);
        picture.area("lane", Area { x, y: TOP, width, height: BOTTOM - TOP }, "");
        picture.text("ink", (x, TOP - 7.0), Anchor::Start, "without a price");
        for choices in marks.values() {
            let y = choices.first().and_then(|choice| value(choice)).map_or(TOP, |value| self.y(value));
            let open = choices.iter().find(|choice| choice.standing == Standing::Open);
            let class = open.map_or("rest", |choice| class(choice));
            let radius = choices.iter().map(|choice| self.radius(choice)).fold(LEAST, f64::max);
            let mut names: Vec<String> =
                choices.iter().take(MOST_NAMES).map(|choice| words(choice)).collect();
            names.extend(
                (choices.len() > MOST_NAMES).then(|| format!("and {} more", choices.len() - MOST_NAMES)),
            );
            picture.disc(class, (x + width / 2.0, y), radius, &names.join("\n"));
        }
    }

    /// Joins those that nobody beats in price and time, whatever they draw.
    fn line(&self, picture: &mut Picture) {
        let mut known: Vec<(f64, f64)> =
            self.front.iter().filter_map(|choice| Some((cost(choice)?, value(choice)?))).collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut quickest = f64::MAX;
        known.retain(|(_, value)| {
            let is_quicker = *value < quickest;
            quickest = quickest.min(*value);
            is_quicker
        });
        let Some(cost) = self.cost else { return };
        let at = |(price, value): &(f64, f64)| (LEFT + (RIGHT - LEFT) * cost.share(*price), self.y(*value));
        picture.chain("forward", &known.iter().map(at).collect::<Vec<_>>());
    }

    /// Numbers and names of the front, each where it covers no disc, or at least none of the front and no other name; where
    /// there is no such place the number alone.
    fn labels(&self, picture: &mut Picture) {
        let disc = |choice: &&Choice| {
            let ((x, y), r) = (self.place(choice)?, self.radius(choice));
            Some(Area { x: x - r, y: y - r, width: 2.0 * r, height: 2.0 * r })
        };
        let mut taken: Vec<Area> = self.front.iter().filter_map(disc).collect();
        let others: Vec<Area> = self.others.iter().filter_map(disc).collect();
        for (index, choice) in self.front.iter().enumerate() {
            let Some(at) = self.place(choice) else { continue };
            let label = format!("{}  {}", number(index), choice.candidate.name);
            let places: Vec<Area> = spots(at, self.radius(choice), text_width(&label, LETTERS))
                .into_iter()
                .filter(|area| is_inside(area) && !taken.iter().any(|other| overlap(area, other)))
                .collect();
            let free = |area: &&Area| !others.iter().any(|other| overlap(area, other));
            match places.iter().find(free).or(places.first()) {
                Some(area) => {
                    picture.text("strong", (area.x, area.y + 11.0), Anchor::Start, &label);
                    taken.push(*area);
                }
                None => picture.text("mark", (at.0, at.1 + 3.5), Anchor::Middle, &number(index)),
            }
        }
    }
}

/// Where a label may stand about a disc, best first.
fn spots((x, y): (f64, f64), r: Pixels, width: Pixels) -> [Area; 8] {
    let area = |x: f64, y: f64| Area { x, y, width, height: 14.0 };
    [
        area(x + r + 5.0, y - 7.0),
        area(x - r - 5.0 - width, y - 7.0),
        area(x - width / 2.0, y - r - 17.0),
        area(x - width / 2.0, y + r + 3.0),
        area(x + r, y - r - 18.0),
        area(x + r, y + r + 4.0),
        area(x - r - width, y - r - 18.0),
        area(x - r - width, y + r + 4.0),
    ]
}

fn is_inside(area: &Area) -> bool {
    area.x >= LEFT && area.x + area.width <= RIGHT && area.y >= TOP && area.y + area.height <= BOTTOM
}

fn overlap(a: &Area, b: &Area) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

fn class(choice: &Choice) -> &'static str {
    match choice.standing {
        Standing::Front => "forward",
        Standing::Open => "open",
        Standing::Beaten => "rest",
    }
}

/// What is shown under the pointer.
fn words(choice: &Choice) -> String {
    let time = choice.run.map_or_else(|| text::time(choice), |run| format!("{:.1} days", run.days));
    let name = &choice.candidate.name;
    let gpus = choice.candidate.gpus();
    format!("{name}: {gpus} GPUs, {}, {}, {time}", text::cost(choice), text::power(choice))
}

/// `2.5 M`.
fn short(number: f64) -> String {
    let (divided, unit) = match number {
        n if n >= 1e9 => (n / 1e9, " B"),
        n if n >= 1e6 => (n / 1e6, " M"),
        n if n >= 1e3 => (n / 1e3, " k"),
        n => (n, ""),
    };
    let text = format!("{divided:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_short_on_an_axis() {
        for (number, text) in [(950.0, "950"), (20_000.0, "20 k"), (2_500_000.0, "2.5 M"), (1e9, "1 B")] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn labels_stand_beside_their_disc_and_within_the_plot() {
        let disc = Area { x: 490.0, y: 190.0, width: 20.0, height: 20.0 };
        for spot in spots((500.0, 200.0), 10.0, 120.0) {
            assert!(is_inside(&spot) && !overlap(&spot, &disc), "{spot:?}");
        }
        // At the right edge there is no room on the right.
        assert!(!is_inside(&spots((RIGHT - 20.0, 200.0), 10.0, 120.0)[0]));
    }
}
