//! Where the file of a copy goes: to a name that nothing has yet, and to nothing else.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Stdio;

use larkspur::app::verify_copy;

use crate::stage::Stage;

fn make_fifo(stage: &Stage, name: &str) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        stage.path(name),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_has_the_name_of_a_copy_stays_as_it_is() {
    let stage = Stage::new().await;
    fs::create_dir(stage.path("out")).unwrap();
    fs::write(stage.path("out/file"), "theirs").unwrap();
    symlink(stage.path("out/file"), stage.path("out/link")).unwrap();
    symlink(stage.path("nowhere"), stage.path("out/dangling")).unwrap();
    make_fifo(&stage, "out/fifo");
    for (command, names) in [
        ("export", &["out", "out/file", "out/link", "out/dangling", "out/fifo"][..]),
        ("backup", &["out/file", "out/link", "out/dangling", "out/fifo"]),
    ] {
        for name in names {
            let target = stage.path(name).display().to_string();
            let output = stage.cli(&["store", command, &target]);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{command} {name}: {said}");
            assert!(said.contains(&format!("{target} is there already")), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(stage.path("out/file")).unwrap(), "theirs");
    assert_eq!(fs::read_link(stage.path("out/link")).unwrap(), stage.path("out/file"));
    assert!(fs::symlink_metadata(stage.path("out/fifo")).unwrap().file_type().is_fifo());
    assert!(!stage.path("nowhere").exists());
    assert_eq!(fs::read_dir(stage.path("out")).unwrap().count(), 4, "and no draft is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_always_a_file_of_its_own_and_an_old_one_is_named() {
    let stage = Stage::new().await;
    for command in ["export", "backup"] {
        let folder = stage.path(command);
        fs::create_dir(&folder).unwrap();
        let (old, victim) = (folder.join("larkspur-copy-1.part"), folder.join("victim"));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&victim, "theirs").unwrap();
        symlink(&victim, folder.join("larkspur-copy-2.part")).unwrap();
        symlink(&victim, folder.join("copy.part")).unwrap();
        let copy = folder.join("copy");
        let output = stage.cli(&["store", command, &copy.display().to_string()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&format!("{} is left of a copy", old.display())), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        let mode = fs::symlink_metadata(&copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{command}: it holds what people wrote");
        verify_copy(&copy).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_backups_at_once_under_one_name_one_is_made() {
    let mut stage = Stage::new().await;
    for is_stopped in [false, true] {
        if is_stopped {
            stage.terminate().await;
        }
        let folder = stage.path(if is_stopped { "stopped" } else { "running" });
        fs::create_dir(&folder).unwrap();
        let copy = folder.join("copy");
        let begin = || {
            let mut command = stage.command(&["store", "backup", &copy.display().to_string()]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let all = [begin(), begin(), begin(), begin()];
        let mut made = 0;
        for child in all {
            let output = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
            let said = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => made += 1,
                Some(1) => assert!(said.contains("is there already"), "{said}"),
                Some(75) => assert!(said.contains("copy already") || said.contains("in use")),
                other => panic!("{other:?}: {said}"),
            }
        }
        assert_eq!(made, 1, "stopped: {is_stopped}");
        verify_copy(&copy).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
    }
}
