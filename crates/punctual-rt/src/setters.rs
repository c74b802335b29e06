//! A macro for configuration methods that replace one value.

/// Defines one method per line. It replaces the field of the same name by the argument, by an expression of the
/// argument, or by the result of the method of the same name of another field.
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
