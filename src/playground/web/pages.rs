//! Pages beside the chat: text files of a folder that whoever starts the playground names, so that
//! links in messages lead somewhere.

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path as InPath, State as Extracted};
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::assets::missing;
use crate::playground::state::Shared;

/// The longest file that is shown.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// `GET /pages/{path}`: a file of the folder, as plain text.
pub(super) async fn page(
    Extracted(shared): Extracted<Arc<Shared>>,
    InPath(path): InPath<String>,
) -> Response {
    let folder = shared.surroundings().pages.clone();
    let read =
        shared.tasks.blocking("page", move || folder.and_then(|folder| read(&folder, &path)));
    let Some(text) = read.await.flatten() else {
        return missing();
    };
    let mut response = Response::new(Body::from(text));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// The text, if the file is inside of the folder, whatever links and dots there are.
fn read(folder: &Path, path: &str) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let file = folder.join(path).canonicalize().ok()?;
    let is_text = file.extension().is_some_and(|ending| ending == "md");
    let is_inside = file.starts_with(&folder) && is_text;
    if !is_inside || file.metadata().ok()?.len() > PAGE_BYTES_MAX {
        return None;
    }
    std::fs::read_to_string(file).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_files_inside_of_the_folder_are_shown() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("kb");
        std::fs::create_dir_all(folder.join("深")).unwrap();
        std::fs::write(folder.join("深/a.md"), "inside").unwrap();
        std::fs::write(folder.join("key"), "no page").unwrap();
        std::fs::write(around.path().join("b.md"), "outside").unwrap();
        std::os::unix::fs::symlink(around.path().join("b.md"), folder.join("link.md")).unwrap();
        assert_eq!(read(&folder, "深/a.md").as_deref(), Some("inside"));
        let outside = around.path().join("b.md").display().to_string();
        for path in ["../b.md", "深/../../b.md", "link.md", "key", "", "none.md", &outside] {
            assert_eq!(read(&folder, path), None, "{path}");
        }
    }
}
