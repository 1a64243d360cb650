//! News of folders for the sessions that have them selected.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

/// News of one folder.
#[derive(Default)]
pub(crate) struct FolderNews {
    /// Raised with every change.
    version: Cell<u64>,
    changed: Notify,
}

impl FolderNews {
    pub(crate) fn version(&self) -> u64 {
        self.version.get()
    }

    /// Waits for a version other than `seen`.
    pub(crate) async fn newer(&self, seen: u64) {
        while self.version.get() == seen {
            self.changed.notified().await;
        }
    }
}

/// The folders that sessions have selected.
#[derive(Default)]
pub(crate) struct Changes(RefCell<HashMap<i64, Weak<FolderNews>>>);

impl Changes {
    /// The news of a folder, for as long as they are held.
    pub(crate) fn follow(&self, folder: i64) -> Rc<FolderNews> {
        let mut folders = self.0.borrow_mut();
        if let Some(known) = folders.get(&folder).and_then(Weak::upgrade) {
            return known;
        }
        let news = Rc::new(FolderNews::default());
        folders.insert(folder, Rc::downgrade(&news));
        news
    }

    /// Tells the followers of a folder that it has changed.
    pub(crate) fn tell(&self, folder: i64) {
        let mut folders = self.0.borrow_mut();
        match folders.get(&folder).map(Weak::upgrade) {
            Some(Some(news)) => {
                news.version.set(news.version.get() + 1);
                news.changed.notify_waiters();
            }
            Some(None) => drop(folders.remove(&folder)),
            None => {}
        }
    }
}
