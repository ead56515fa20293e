//! Long connections, from the platform's side.

use super::{Playground, PlaygroundError, verbs};
use crate::playground::settings::{LongConnection, Transport};
use crate::playground::socket::{Break, Connection};

impl Playground {
    /// How the events of the first app reach it, from the next try on.
    pub fn set_transport(&self, transport: Transport) {
        if let Some(app) = self.shared.lock().world.apps.first_mut() {
            app.transport = transport;
        }
        self.shared.changed();
    }

    /// What an app's clients are told, and how what they get is cut.
    ///
    /// # Errors
    /// [`PlaygroundError::NoApp`].
    pub fn set_long_connection(
        &self,
        app_id: &str,
        settings: LongConnection,
    ) -> Result<(), PlaygroundError> {
        verbs::set_long_connection(&self.shared, app_id, settings)
    }

    /// The long connections that are open, the oldest first.
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.lock().links.shown()
    }

    /// Breaks every long connection of an app, or of all; how many.
    pub fn break_connections(&self, app_id: Option<&str>, how: Break) -> usize {
        self.shared.lock().links.break_all(app_id, None, how)
    }
}
