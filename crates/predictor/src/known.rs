//! Machines that are asked again and again: what was found once is kept.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::Topology;

use crate::found::{Found, Search};
use crate::nccl::constants::Constants;
use crate::nccl::system::library;
use crate::{PredictError, Prediction, Predictor, Request};

/// A machine that is asked again and again: channels are searched for once for all requests that find the same ones, and
/// equal questions are answered once. Its clones share what they know.
#[derive(Debug, Clone)]
pub struct KnownMachine<'c>(Rc<Known<'c>>);

#[derive(Debug)]
struct Known<'c> {
    topology: Topology,
    catalogue: &'c Catalogue,
    searches: RefCell<Vec<Rc<Searched>>>,
    answers: RefCell<Vec<Answered>>,
    variants: RefCell<BTreeMap<&'static str, Option<KnownMachine<'c>>>>,
}

#[derive(Debug)]
struct Searched {
    search: Search,
    found: Result<Found, PredictError>,
}

type Answer = Result<Rc<Prediction>, PredictError>;

/// What was answered to requests that are equal but for the collective and the sizes.
#[derive(Debug)]
struct Answered {
    request: Request,
    answers: BTreeMap<(Collective, Vec<Bytes>), Answer>,
}

impl<'c> KnownMachine<'c> {
    /// A machine of which nothing was asked yet.
    pub fn new(topology: Topology, catalogue: &'c Catalogue) -> Self {
        let (searches, answers, variants) = Default::default();
        Self(Rc::new(Known { topology, catalogue, searches, answers, variants }))
    }

    /// The machine.
    pub fn topology(&self) -> &Topology {
        &self.0.topology
    }

    pub(crate) fn catalogue(&self) -> &'c Catalogue {
        self.0.catalogue
    }

    /// Whether both are one and share what they know.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// As [`predict`](crate::predict) of this machine.
    pub fn predict(&self, request: &Request) -> Result<Rc<Prediction>, PredictError> {
        let (asked, kept) = (asked(request), (request.collective, request.sizes.clone()));
        let known = |answers: &[Answered]| answers.iter().position(|answered| answered.request == asked);
        let index = known(&self.0.answers.borrow());
        let answer = index.and_then(|index| self.0.answers.borrow()[index].answers.get(&kept).cloned());
        if let Some(answer) = answer {
            return answer;
        }
        let answer = self.ask(request, |predictor| predictor.predict(request.collective, &request.sizes));
        let answer = answer.map(Rc::new);
        let mut answers = self.0.answers.borrow_mut();
        match index.map(|index| &mut answers[index]) {
            Some(known) => _ = known.answers.insert(kept, answer.clone()),
            None => answers.push(Answered { request: asked, answers: [(kept, answer.clone())].into() }),
        }
        answer
    }

    /// Puts a question about `request` to a predictor that searches only for what was never found.
    pub(crate) fn ask<T>(
        &self,
        request: &Request,
        question: impl FnOnce(&Predictor<'_>) -> Result<T, PredictError>,
    ) -> Result<T, PredictError> {
        let searched = self.searched(request)?;
        let found = searched.found.as_ref().map_err(Clone::clone)?;
        question(&Predictor::known(&self.0.topology, self.0.catalogue, request, found)?)
    }

    fn searched(&self, request: &Request) -> Result<Rc<Searched>, PredictError> {
        let search = Search::of(&self.0.topology, request)?;
        let known = self.0.searches.borrow().iter().find(|known| known.search == search).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let Known { topology, catalogue, .. } = &*self.0;
        let library = library(topology, catalogue, &search.gpus, &request.settings)?;
        let constants = Constants::of_version(catalogue, library, request.settings.version)?;
        let found = search.run(topology, catalogue, (library, constants));
        let searched = Rc::new(Searched { search, found });
        self.0.searches.borrow_mut().push(Rc::clone(&searched));
        Ok(searched)
    }

    /// The machine with something else about it, which has a name of its own; `None` where it cannot be so.
    pub(crate) fn variant(
        &self,
        name: &'static str,
        change: impl FnOnce(&Topology) -> Option<Topology>,
    ) -> Option<Self> {
        let known = self.0.variants.borrow().get(name).cloned();
        known.unwrap_or_else(|| {
            let changed = change(&self.0.topology).map(|topology| Self::new(topology, self.0.catalogue));
            self.0.variants.borrow_mut().insert(name, changed.clone());
            changed
        })
    }
}

/// A request without its collective and its sizes.
fn asked(request: &Request) -> Request {
    let mut asked = request.clone();
    (asked.collective, asked.sizes) = (Collective::AllReduce, Vec::new());
    asked
}

#[cfg(test)]
mod tests {
    use weft_topology::build;

    use super::*;
    use crate::{Algorithm, predict};

    fn dgx() -> Topology {
        let catalogue = Catalogue::embedded();
        build(catalogue.system("dgx-a100").unwrap(), catalogue).unwrap().topology
    }

    fn searches(machine: &KnownMachine<'_>) -> usize {
        machine.0.searches.borrow().len()
    }

    #[test]
    fn what_is_kept_is_what_a_fresh_look_gives() {
        let (topology, catalogue) = (dgx(), Catalogue::embedded());
        let machine = KnownMachine::new(topology.clone(), catalogue);
        let mut request = Request::new(Collective::AllReduce);
        for change in [
            |_: &mut Request| {},
            |request: &mut Request| request.settings = request.settings.clone().only(Algorithm::Tree),
            |request: &mut Request| request.settings.max_channels = Some(2),
            |request: &mut Request| request.collective = Collective::AllGather,
            |request: &mut Request| request.sizes = vec![Bytes::new(1 << 20)],
            |request: &mut Request| request.settings.version = "2.18".parse().ok(),
        ] {
            change(&mut request);
            let fresh = predict(&topology, catalogue, &request).unwrap();
            for _ in 0..2 {
                let known = machine.predict(&request).unwrap();
                assert_eq!(
                    (&known.rows, &known.bound, &known.library),
                    (&fresh.rows, &fresh.bound, &fresh.library)
                );
            }
        }
        // All but the version only choose among channels, or price them.
        assert_eq!(searches(&machine), 2);
    }

    #[test]
    fn what_a_search_looks_at_is_searched_for_anew() {
        let machine = KnownMachine::new(dgx(), Catalogue::embedded());
        let mut request = Request::new(Collective::AllReduce);
        let whole = machine.predict(&request).unwrap();
        let gpus: Vec<_> = machine.topology().of_kind(weft_topology::NodeKind::Gpu).take(4).collect();
        request.gpus = Some(gpus);
        assert_eq!((whole.ranks, machine.predict(&request).unwrap().ranks), (8, 4));
        request.gpus = None;
        request.access = crate::PeerAccess::Everywhere;
        machine.predict(&request).unwrap();
        assert_eq!(searches(&machine), 3);
        // Send and receive take the first two.
        request.collective = Collective::SendRecv;
        assert_eq!((machine.predict(&request).unwrap().ranks, searches(&machine)), (2, 4));
    }

    #[test]
    fn equal_questions_have_one_answer_and_errors_are_kept_too() {
        let machine = KnownMachine::new(dgx(), Catalogue::embedded());
        let mut request = Request::new(Collective::AllReduce);
        let (first, second) = (machine.predict(&request).unwrap(), machine.predict(&request).unwrap());
        assert!(Rc::ptr_eq(&first, &second));
        request.gpus = Some(Vec::new());
        for _ in 0..2 {
            assert_eq!(machine.predict(&request).unwrap_err(), PredictError::TooFewGpus { gpus: 0 });
        }
    }

    #[test]
    fn a_variant_is_made_once() {
        let machine = KnownMachine::new(dgx(), Catalogue::embedded());
        let first = machine.variant("same", |topology| Some(topology.clone())).unwrap();
        let second = machine.variant("same", |_| None).unwrap();
        assert!(first.is(&second) && !first.is(&machine));
        assert!(machine.variant("none", |_| None).is_none());
    }
}
