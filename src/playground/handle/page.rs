//! What the page of a playground is told of its surroundings.

use std::path::PathBuf;

use super::{Playground, PlaygroundError, verbs};

impl Playground {
    /// Tells the page which daemon knows the ways of messages; an empty address: none.
    ///
    /// # Errors
    /// [`PlaygroundError::Bad`]: not an address of http or https.
    pub fn set_daemon(&self, url: &str, token: &str) -> Result<(), PlaygroundError> {
        verbs::set_daemon(&self.shared, url, token)
    }

    /// The folder whose Markdown files are pages below `/pages/`, so that links lead somewhere.
    pub fn set_pages(&self, folder: PathBuf) {
        self.shared.surroundings().pages = Some(folder);
    }

    /// Further links for the head of the page: words and addresses.
    pub fn set_links(&self, links: Vec<(String, String)>) {
        self.shared.surroundings().links = links;
        self.shared.changed();
    }
}
