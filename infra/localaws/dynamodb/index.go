package dynamodb

// Attributes that are keys of indexes may be absent from an item, but may not have another type, be
// empty or be too large. The error depends on their source: an item, a constant of an update, or a
// computed value.

// eachIndexKey visits the attributes of an item that are keys of indexes.
func (t *table) eachIndexKey(it item, visit func(x index, name string, v value) error) error {
	for _, x := range t.Indexes {
		for _, name := range x.Key.names() {
			if v, ok := it[name]; ok {
				if err := visit(x, name, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isEmptyKey reports whether a value is empty, which no key may be, and names its type.
func (v value) isEmptyKey() (kindName string, empty bool) {
	if v.s != "" {
		return "", false
	}
	switch v.kind {
	case kindS:
		return "string", true
	case kindB:
		return "binary", true
	default:
		return "", false
	}
}

// tooLargeFor reports whether a value exceeds the size of a key of the index.
func (x index) tooLargeFor(name string, v value) bool {
	limit := maxHashKeySize
	if name == x.Key.Sort {
		limit = maxSortKeySize
	}
	return v.kind != kindN && len(v.s) > limit
}

// checkIndexKeys checks a whole item against the indexes.
func (t *table) checkIndexKeys(it item) error {
	if err := t.checkIndexKinds(it); err != nil {
		return err
	}
	if err := t.checkEmptyIndexKeys(it); err != nil {
		return err
	}
	return t.eachIndexKey(it, func(x index, name string, v value) error {
		if x.tooLargeFor(name, v) {
			return invalidValue("Size of index key %s has exceeded the maximum size limit. IndexName: %s", name, x.Name)
		}
		return nil
	})
}

func (t *table) checkIndexKinds(it item) error {
	return t.eachIndexKey(it, func(x index, name string, v value) error {
		if want := t.kindOf(name); v.kind != want {
			return invalidValue("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", name, want, v.kind, x.Name)
		}
		return nil
	})
}

func (t *table) checkEmptyIndexKeys(it item) error {
	return t.eachIndexKey(it, func(x index, name string, v value) error {
		if kindName, empty := v.isEmptyKey(); empty {
			return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", kindName, x.Name, name)
		}
		return nil
	})
}

// checkSetEmpty refuses an update that sets an index's key to an empty value.
func (t *table) checkSetEmpty(constants item) error {
	return t.eachIndexKey(constants, func(_ index, _ string, v value) error {
		if kindName, empty := v.isEmptyKey(); empty {
			return invalid("One or more parameter values are not valid. The update expression attempted to update a secondary index key "+
				"to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty %s value.", kindName)
		}
		return nil
	})
}

// checkConstants refuses an update that is invalid for an index with any item.
func (t *table) checkConstants(u *update) error {
	if len(t.Indexes) == 0 {
		return nil
	}
	constants := u.constants()
	if err := t.checkSetEmpty(constants); err != nil {
		return err
	}
	return t.checkIndexKinds(constants)
}

// checkUpdatedKeys checks the item after an update against the indexes.
func (t *table) checkUpdatedKeys(it item) error {
	if err := t.checkSetEmpty(it); err != nil {
		return err
	}
	return t.eachIndexKey(it, func(x index, name string, v value) error {
		switch {
		case v.kind != t.kindOf(name):
			return invalid("The update expression attempted to update the secondary index key to unsupported type")
		case x.tooLargeFor(name, v):
			return invalid("The update expression attempted to update the secondary index key beyond allowed size limits")
		}
		return nil
	})
}
