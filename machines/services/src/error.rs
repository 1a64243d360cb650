//! Errors between a folder of `services/` and a unit.

use barograph_platform::MissingRequirement;

/// A service could not be read, or a unit of it could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A `service.toml` is invalid.
    #[error("read `services/{service}/service.toml`")]
    Read {
        /// Name of the service.
        service: String,
        /// The cause.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The files of a folder are inconsistent.
    #[error("use `services/{file}`: {what}")]
    Folder {
        /// The file, with the place in it if known.
        file: String,
        /// The defect.
        what: String,
    },
    /// A template contains an unknown word.
    #[error("use `services/{file}`: unknown word `{word}` in braces")]
    UnknownWord {
        /// The file and its line.
        file: String,
        /// Text between the braces.
        word: String,
    },
    /// The topology gave a word that the service does not have.
    #[error("give `{word}` to service `{service}`: it knows {known}")]
    UnknownValue {
        /// Name of the service.
        service: String,
        /// The word.
        word: String,
        /// All words of the service.
        known: String,
    },
    /// The topology did not give a required word.
    #[error("leave out `{word}` of service `{service}`: it is {what}")]
    NoValue {
        /// Name of the service.
        service: String,
        /// The word.
        word: String,
        /// Description of the word.
        what: String,
    },
    /// The topology gave a word an invalid value.
    #[error("use `{value}` as `{word}` of service `{service}`: wanted is {wanted}")]
    BadValue {
        /// Name of the service.
        service: String,
        /// The word.
        word: String,
        /// Its value.
        value: String,
        /// Allowed values.
        wanted: String,
    },
    /// The place has no port of this name.
    #[error("place service `{service}` without a port `{port}`")]
    NoPort {
        /// Name of the service.
        service: String,
        /// Name of the port.
        port: String,
    },
    /// The folder of the place cannot be written in configuration files.
    #[error("place service `{service}` in `{folder}`: {why}")]
    BadFolder {
        /// Name of the service.
        service: String,
        /// The folder.
        folder: String,
        /// The cause.
        why: &'static str,
    },
    /// A program is not installed.
    #[error("find the programs of service `{service}`")]
    Missing {
        /// Name of the service.
        service: String,
        /// The program, and the command that installs it.
        #[source]
        source: MissingRequirement,
    },
    /// The program did not report its version.
    #[error("ask `{command}` for its version: {what}")]
    Version {
        /// The command.
        command: String,
        /// Actual result of the command.
        what: String,
    },
}
