//! A macro for configuration methods that replace one value.

/// Defines one method per line, which replaces the field of its own name by the argument. With `=> (expression)`, it
/// replaces the field by that expression. With `=> (in part)`, it calls the method of its own name of the field `part`.
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
