//! Methods of configurations that replace one value.

/// Writes one method for each line: it replaces the field of that name by the value, by an expression of it, or by what
/// the method of that name of another field makes of it.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty $(=> $how:tt)?;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(self, $field: $type) -> Self {
            setters!(@ self $field $($how)?)
        }
    )*};
    (@ $self:ident $field:ident) => {
        Self { $field, ..$self }
    };
    (@ $self:ident $field:ident (in $part:ident)) => {
        Self { $part: $self.$part.$field($field), ..$self }
    };
    (@ $self:ident $field:ident ($value:expr)) => {
        Self { $field: $value, ..$self }
    };
}
