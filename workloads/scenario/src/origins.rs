//! Origins beside the target: those of further URLs, and those of redirects.

use std::cell::RefCell;
use std::rc::Rc;

use barograph_http::{Client, Options, ResolvedTarget, Target, Tls};
use tokio::sync::{OnceCell, oneshot};

/// Most origins of a worker: each user has connections to all that it visited.
pub(crate) const MOST: usize = 64;

/// Clients of these origins; those of redirects are made on first use.
pub(crate) struct Origins(RefCell<Vec<Origin>>);

struct Origin {
    name: String,
    client: LazyClient,
}

/// A client made on first use, while others wait for it.
type LazyClient = Rc<OnceCell<Rc<Client>>>;

impl Origins {
    /// Origins known beforehand have the first numbers.
    pub(crate) fn known(resolved: &[ResolvedTarget]) -> Self {
        let known = |resolved: &ResolvedTarget| Origin {
            name: resolved.target().origin(),
            client: Rc::new(OnceCell::new_with(Some(Client::new(resolved)))),
        };
        Origins(RefCell::new(resolved.iter().map(known).collect()))
    }

    /// The client of an origin that was known beforehand.
    pub(crate) fn by_number(&self, number: usize) -> Rc<Client> {
        let origins = self.0.borrow();
        Rc::clone(origins[number].client.get().expect("it was made with the worker"))
    }

    /// The client of an origin and its number. It has the options of the target, except for the name in its
    /// certificate.
    pub(crate) async fn client(&self, name: &str, target: &Target) -> Result<(usize, Rc<Client>), String> {
        let (number, cell) = self.cell(name)?;
        let client = cell.get_or_try_init(async || Ok(Client::new(&resolved(name, target).await?))).await;
        client.map(|client| (number, Rc::clone(client)))
    }

    /// Calls `look` with each existing client.
    pub(crate) fn each(&self, mut look: impl FnMut(&Client)) {
        self.0.borrow().iter().filter_map(|origin| origin.client.get()).for_each(|client| look(client));
    }

    fn cell(&self, name: &str) -> Result<(usize, LazyClient), String> {
        let mut origins = self.0.borrow_mut();
        let number = origins.iter().position(|origin| origin.name == name).unwrap_or(origins.len());
        if number == origins.len() {
            if number == MOST {
                return Err(format!("redirected to more than {MOST} origins"));
            }
            origins.push(Origin { name: name.to_owned(), client: Rc::default() });
        }
        Ok((number, Rc::clone(&origins[number].client)))
    }
}

/// Resolves an origin in a thread of its own: a lookup in the network would stop all users of the worker.
async fn resolved(name: &str, target: &Target) -> Result<ResolvedTarget, String> {
    let own = target.options();
    let options = Options { tls: Tls { server_name: None, ..own.tls.clone() }, ..own.clone() };
    let (send, receive) = oneshot::channel();
    let url = name.to_owned();
    std::thread::spawn(move || {
        let resolved = Target::parse(&url, &options).and_then(|target| target.resolve());
        // The operation may be over.
        let _ = send.send(resolved);
    });
    let resolved = receive.await.map_err(|_| "the look-up of a name has ended early".to_owned())?;
    resolved.map_err(|why| barograph_model::words::in_one_line(&why))
}
