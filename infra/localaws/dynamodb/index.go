package dynamodb

// The attributes that are keys of indexes may be absent from an item, but not
// there with another type, empty or too large. What is said of that depends on
// how they came: in an item, as a constant of an update, or computed by one.

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

// isEmptyKey says whether a value is empty in a way that no key may be.
func (v value) isEmptyKey() (what string, empty bool) {
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

// tooLargeFor says whether a value exceeds what a key of the index may have.
func (x index) tooLargeFor(name string, v value) bool {
	limit := maxHashKeySize
	if name == x.Key.Sort {
		limit = maxSortKeySize
	}
	return v.kind != kindN && len(v.s) > limit
}

// checkIndexKeys holds a whole item to the indexes.
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
		if what, empty := v.isEmptyKey(); empty {
			return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", what, x.Name, name)
		}
		return nil
	})
}

// checkSetEmpty refuses an update that sets an index's key to nothing.
func (t *table) checkSetEmpty(constants item) error {
	return t.eachIndexKey(constants, func(_ index, _ string, v value) error {
		if what, empty := v.isEmptyKey(); empty {
			return invalid("One or more parameter values are not valid. The update expression attempted to update a secondary index key "+
				"to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty %s value.", what)
		}
		return nil
	})
}

// checkConstants refuses an update that is wrong for an index whatever the item.
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

// checkUpdatedKeys holds the item an update made to the indexes.
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
