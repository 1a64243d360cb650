//! Ramps of tiles, one after another.

use barograph_model::{Level, Nanos};

use super::LoadPhase;
use crate::HarnessError;

impl LoadPhase<'_, '_> {
    /// Begins a change of the loads of one tile, and of those of no tile with the first.
    pub(crate) async fn ramp_tile(
        &mut self,
        tile: u32,
        level: Level,
        over: Nanos,
    ) -> Result<(), HarnessError> {
        self.level = level;
        for (load, of) in self.loads.iter_mut().zip(&self.run.loads) {
            if of.checked.plan.tile.as_ref().map_or(1, |of| of.number) == tile {
                self.level_at = self.level_at.max(load.engine.ramp(load.level_at(level), over).await?);
            }
        }
        Ok(())
    }
}
