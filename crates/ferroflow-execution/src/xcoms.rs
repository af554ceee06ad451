//! What tasks left for others.

use ferroflow_db::xcom::{self, Runs};
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_model::id::NOT_MAPPED;

use crate::api::{Slice, XComAddress, XComOf};
use crate::{Refusal, Service};

impl Service {
    /// What one copy of a task left, of the latest run that counts.
    pub async fn xcom(&self, address: &XComAddress, of: XComOf) -> Result<Option<Json>, Refusal> {
        let (address, runs) = (&stored_at(address), counted_runs(of.include_prior_dates));
        let map_index = of.map_index.filter(|index| *index >= 0).unwrap_or(i64::from(NOT_MAPPED));
        let found =
            self.db.read(|tx| async move { xcom::find(tx, address, runs, map_index).await }.scope_boxed());
        Ok(found.await?)
    }

    /// How many copies of a task left something.
    pub async fn xcom_count(&self, address: &XComAddress) -> Result<i64, Refusal> {
        let address = &stored_at(address);
        let counted =
            self.db.read(|tx| async move { xcom::count(tx, address, Runs::This).await }.scope_boxed());
        Ok(counted.await?)
    }

    /// The value at a place, by map index; a negative one counts from the end.
    pub async fn xcom_item(&self, address: &XComAddress, offset: i64) -> Result<Option<Json>, Refusal> {
        let address = &stored_at(address);
        let found = self.db.read(|tx| {
            async move {
                let offset = if offset < 0 {
                    offset.saturating_add(xcom::count(tx, address, Runs::This).await?)
                } else {
                    offset
                };
                if offset < 0 {
                    return Ok(Vec::new());
                }
                xcom::range(tx, address, Runs::This, offset, 1).await
            }
            .scope_boxed()
        });
        Ok(found.await?.pop())
    }

    /// The values of a slice, by Python's rules.
    pub async fn xcom_slice(
        &self,
        address: &XComAddress,
        slice: Slice,
        include_prior_dates: bool,
    ) -> Result<Vec<Json>, Refusal> {
        let (address, runs) = (&stored_at(address), counted_runs(include_prior_dates));
        let found = self.db.read(|tx| {
            async move {
                let picked = Picked::of(slice, xcom::count(tx, address, runs).await?);
                let values = xcom::range(tx, address, runs, picked.first, picked.span).await?;
                Ok((picked, values))
            }
            .scope_boxed()
        });
        let (picked, values) = found.await?;
        Ok(picked.from(values))
    }
}

fn counted_runs(include_prior_dates: bool) -> Runs {
    if include_prior_dates { Runs::UpToThis } else { Runs::This }
}

pub(crate) fn stored_at(address: &XComAddress) -> xcom::XComAddress {
    let XComAddress { dag_id, run_id, task_id, key } = address.clone();
    xcom::XComAddress { dag_id, run_id, task_id, key }
}

/// What a slice is of a sequence: neighbours, and which of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Picked {
    first: i64,
    span: i64,
    step: i64,
}

impl Picked {
    fn of(slice: Slice, length: i64) -> Self {
        let step = slice.step.filter(|step| *step != 0).unwrap_or(1);
        let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let place = |bound: i64| {
            let place = if bound < 0 { bound.saturating_add(length) } else { bound };
            place.clamp(lowest, highest)
        };
        let (from_start, from_end) = (slice.start.map(place), slice.stop.map(place));
        if step > 0 {
            let (first, end) = (from_start.unwrap_or(lowest), from_end.unwrap_or(highest));
            Picked { first, span: (end - first).max(0), step }
        } else {
            let (last, before) = (from_start.unwrap_or(highest), from_end.unwrap_or(lowest));
            Picked { first: before + 1, span: (last - before).max(0), step }
        }
    }

    fn from<T>(self, mut neighbours: Vec<T>) -> Vec<T> {
        if self.step < 0 {
            neighbours.reverse();
        }
        let step = usize::try_from(self.step.unsigned_abs()).unwrap_or(usize::MAX);
        neighbours.into_iter().step_by(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    // The expected lists are what Python answers for `list(range(5))[start:stop:step]`.
    #[test_case(None, None, None => vec![0, 1, 2, 3, 4]; "all")]
    #[test_case(None, None, Some(-1) => vec![4, 3, 2, 1, 0]; "backwards")]
    #[test_case(Some(1), Some(3), None => vec![1, 2]; "inside")]
    #[test_case(Some(-2), None, None => vec![3, 4]; "the last two")]
    #[test_case(None, Some(-2), Some(2) => vec![0, 2]; "every second before the last two")]
    #[test_case(Some(2), Some(-4), None => Vec::<i64>::new(); "stop before start")]
    #[test_case(Some(9), Some(0), Some(-3) => vec![4, 1]; "backwards from beyond")]
    #[test_case(Some(-9), Some(9), Some(3) => vec![0, 3]; "beyond both ends")]
    #[test_case(Some(1), None, Some(-1) => vec![1, 0]; "backwards to the start")]
    #[test_case(Some(i64::MIN), Some(i64::MAX), Some(i64::MIN) => Vec::<i64>::new(); "extremes")]
    fn slices_are_pythons(start: Option<i64>, stop: Option<i64>, by: Option<i64>) -> Vec<i64> {
        let picked = Picked::of(Slice { start, stop, step: by }, 5);
        let neighbours = (0..5).skip(usize::try_from(picked.first).unwrap());
        picked.from(neighbours.take(usize::try_from(picked.span).unwrap()).collect())
    }
}
