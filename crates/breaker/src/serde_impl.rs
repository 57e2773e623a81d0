//! Categories as keys and values of data, by their fixed names.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::config::CategoryThresholds;
use crate::outcome::{Category, CategoryNames};

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Category {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl de::Visitor<'_> for Name {
            type Value = Category;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names = Category::ALL.map(Category::name).join(", ");
                write!(f, "a category: {names}")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Category, E> {
                Category::from_name(name)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(name), &self))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

impl Serialize for CategoryThresholds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for CategoryThresholds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::<Category, u16>::deserialize(deserializer)?.into_iter().collect())
    }
}

pub(crate) mod names {
    use super::{BTreeMap, Category, CategoryNames, Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        names: &CategoryNames,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(names.given())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<CategoryNames, D::Error> {
        let names = BTreeMap::<Category, String>::deserialize(deserializer)?;
        Ok(names
            .iter()
            .fold(CategoryNames::default(), |all, (category, name)| all.with(*category, name)))
    }
}
