//! What can go wrong between a folder of `services/` and a unit.

use barograph_platform::Missing;

/// A service could not be read, or made a unit of.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A `service.toml` is not what it must be.
    #[error("read `services/{service}/service.toml`")]
    Read {
        /// The service.
        service: String,
        /// Why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// Something in a folder does not fit together.
    #[error("use `services/{file}`: {what}")]
    Folder {
        /// The file, and the place in it where there is one.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// A template has a word that nobody can fill in.
    #[error("use `services/{file}`: unknown word `{word}` in braces")]
    UnknownWord {
        /// The file and its line.
        file: String,
        /// What stands in the braces.
        word: String,
    },
    /// The topology gave a word that the service does not know.
    #[error("give `{word}` to service `{service}`: it knows {known}")]
    UnknownValue {
        /// The service.
        service: String,
        /// The word.
        word: String,
        /// All words it knows.
        known: String,
    },
    /// The service needs a word that the topology did not give.
    #[error("leave out `{word}` of service `{service}`: it is {what}")]
    NoValue {
        /// The service.
        service: String,
        /// The word.
        word: String,
        /// What it stands for.
        what: String,
    },
    /// The topology gave a word a value that cannot be used.
    #[error("use `{value}` as `{word}` of service `{service}`: wanted is {wanted}")]
    BadValue {
        /// The service.
        service: String,
        /// The word.
        word: String,
        /// Its value.
        value: String,
        /// What would be good.
        wanted: String,
    },
    /// The place has no port of this name.
    #[error("place service `{service}` without a port `{port}`")]
    NoPort {
        /// The service.
        service: String,
        /// The port's name.
        port: String,
    },
    /// The folder of the place cannot stand in configuration files.
    #[error("place service `{service}` in `{folder}`: {why}")]
    BadFolder {
        /// The service.
        service: String,
        /// The folder.
        folder: String,
        /// Why not.
        why: &'static str,
    },
    /// A program is not on this machine.
    #[error("find the programs of service `{service}`")]
    Missing {
        /// The service.
        service: String,
        /// Which one, and what installs it.
        #[source]
        source: Missing,
    },
    /// The program did not tell its version.
    #[error("ask `{command}` for its version: {what}")]
    Version {
        /// The command.
        command: String,
        /// What it did instead.
        what: String,
    },
}
