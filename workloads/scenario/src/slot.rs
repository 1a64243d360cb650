//! A slot for one value, which keeps its allocation when the value goes.

use barograph_scenario::View;

/// Largest capacity kept by an empty text. An idle user must stay small.
const KEPT_CAPACITY: usize = 1024;

/// One value and the buffer of its text.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    shown: SlotState,
    text: String,
}

#[derive(Debug, Default)]
enum SlotState {
    #[default]
    Absent,
    Text,
    Integer(i64),
    List(Vec<Box<str>>),
}

impl Slot {
    /// The value.
    pub(crate) fn view(&self) -> View<'_> {
        match &self.shown {
            SlotState::Absent => View::Absent,
            SlotState::Text => View::Text(&self.text),
            SlotState::Integer(n) => View::Integer(*n),
            SlotState::List(items) => View::List(items),
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.shown, SlotState::Absent)
    }

    /// Clears the value.
    pub(crate) fn clear(&mut self) {
        self.shown = SlotState::Absent;
        if self.text.capacity() > KEPT_CAPACITY {
            self.text = String::new();
        }
    }

    pub(crate) fn set_integer(&mut self, n: i64) {
        self.shown = SlotState::Integer(n);
    }

    pub(crate) fn set_text(&mut self, text: &str) {
        self.begin_text().push_str(text);
    }

    pub(crate) fn set_list(&mut self, items: Vec<Box<str>>) {
        self.shown = SlotState::List(items);
    }

    /// Sets the value to an empty text, to be appended to.
    pub(crate) fn begin_text(&mut self) -> &mut String {
        self.shown = SlotState::Text;
        self.text.clear();
        &mut self.text
    }

    /// Copies another value.
    pub(crate) fn copy(&mut self, from: &Slot) {
        match &from.shown {
            SlotState::Absent => self.clear(),
            SlotState::Text => self.set_text(&from.text),
            SlotState::Integer(n) => self.set_integer(*n),
            SlotState::List(items) => self.set_list(items.clone()),
        }
    }
}

/// `count` empty slots.
pub(crate) fn empty(count: u16) -> Box<[Slot]> {
    std::iter::repeat_with(Slot::default).take(usize::from(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_goes_and_its_room_stays_unless_it_is_large() {
        let mut slot = Slot::default();
        assert_eq!(slot.view(), View::Absent);
        slot.set_text("abc");
        let room = slot.text.as_ptr();
        assert_eq!(slot.view(), View::Text("abc"));
        slot.set_integer(7);
        assert_eq!(slot.view(), View::Integer(7));
        slot.clear();
        assert!(slot.is_absent());
        slot.set_text("de");
        assert_eq!((slot.view(), slot.text.as_ptr()), (View::Text("de"), room));
        slot.set_text(&"x".repeat(KEPT_CAPACITY + 1));
        slot.clear();
        assert_eq!(slot.text.capacity(), 0);
        slot.set_list(vec!["a".into(), "b".into()]);
        let mut other = Slot::default();
        other.copy(&slot);
        assert_eq!(other.view().length(), 2);
    }
}
