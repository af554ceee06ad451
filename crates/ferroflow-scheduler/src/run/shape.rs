//! User code has its say about the instances that a step makes, and about the first of them, which was there.

use ferroflow_db::task_instance::TaskInstance;
use ferroflow_db::task_instance::reshape::Shape;
use ferroflow_python::task_instances::Occasion;
use uuid::Uuid;

use super::writes::Write;
use super::{ActiveRun, Driver};
use crate::Error;
use crate::create_run::{About, shape_all};

impl ActiveRun {
    /// Asks about what is to be written. True if an instance will have another state than was decided: the run is to be
    /// read anew then.
    pub(super) async fn shape(&self, driver: &Driver, writes: &mut Vec<Write>) -> Result<bool, Error> {
        let mut first = Vec::new();
        let mut made: Vec<TaskInstance> = Vec::new();
        for write in &*writes {
            match write {
                Write::BecomeFirst { id, .. } => first.push((*id, 0)),
                Write::Create { instances } => made.extend(instances.iter().cloned()),
                _ => {}
            }
        }
        if made.is_empty() && first.is_empty() {
            return Ok(false);
        }
        let changed = self.ask(driver, Occasion::Expanded, &mut made, &first).await?;
        let mut made = made.into_iter();
        let mut has_other_state = false;
        for write in &mut *writes {
            if let Write::Create { instances } = write {
                for (instance, shaped) in instances.iter_mut().zip(&mut made) {
                    has_other_state |= instance.state != shaped.state;
                    *instance = shaped;
                }
            }
        }
        writes.extend(changed.into_iter().map(|(id, shape)| Write::Reshape { id, shape: Box::new(shape) }));
        Ok(has_other_state)
    }

    /// Asks about instances to be made and, if there is a hook, about some that are there.
    pub(crate) async fn ask(
        &self,
        driver: &Driver,
        occasion: Occasion,
        made: &mut [TaskInstance],
        there: &[(Uuid, i32)],
    ) -> Result<Vec<(Uuid, Shape)>, Error> {
        let about = About {
            dag: self.definition.dag(),
            version: self.definition.version.id,
            run_id: &self.row.run_id,
            new_run: None,
            occasion,
        };
        Ok(shape_all(driver.rules.as_deref(), &about, made, there).await?)
    }
}
