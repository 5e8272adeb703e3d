package client

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/runs/plan"
)

// anID is the form of an identifier of a deployment: of a run ("01M8…"), of an element ("s2[3]"), an undo ("undo:s2"), a message
// ("01M8…#conclusion"). None has a character with a meaning for a shell, and none begins like a flag, because people paste the
// commands that name them.
var anID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/#\[\]-]{0,127}$`)

// ofOthers are the members that end as an identifier does, and whose texts are of clients, services or people.
var ofOthers = []string{"operation_id", "session_id", "user_id", "trace_id", "id_empresa"}

// checkIDs returns an error if an identifier, a digest or the version of a changed file in an answer has another form than a deployment gives it.
func checkIDs(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return checkIDs(v.Elem())
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k == reflect.Uint8 || k == reflect.String && v.Type().Elem() != digestType {
			return nil
		}
		for i := range v.Len() {
			if err := checkIDs(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := checkIDs(v.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.String:
		if v.Type() == digestType && v.String() != "" && !plan.Digest(v.String()).Valid() {
			return fmt.Errorf("%q is no digest", v.String())
		}
	case reflect.Struct:
		return checkMembers(v)
	}
	return nil
}

var (
	digestType = reflect.TypeFor[plan.Digest]()
	effectType = reflect.TypeFor[plan.EffectID]()
)

// checkMembers checks the members of a struct.
func checkMembers(v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for _, text := range texts(v.Field(i), isID(name)) {
			if text != "" && !anID.MatchString(text) {
				return fmt.Errorf("%s: %q is no identifier", name, text)
			}
		}
		if text := v.Field(i); name == "before" && text.Kind() == reflect.String && text.String() != "" && !plan.Digest(text.String()).Valid() {
			return fmt.Errorf("%s: %q is no version of a file", name, text.String()) // a part of it stands in a command
		}
		if err := checkIDs(v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the identifiers in a member: its text, its texts, or that of an effect.
func texts(v reflect.Value, isID bool) []string {
	switch {
	case v.Type() == effectType:
		return []string{v.Interface().(plan.EffectID).String()}
	case !isID:
		return nil
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return texts(v.Elem(), true)
	case v.Kind() == reflect.String:
		return []string{v.String()}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String:
		all := make([]string, v.Len())
		for i := range all {
			all[i] = v.Index(i).String()
		}
		return all
	}
	return nil
}

// isID reports whether a member of an answer is an identifier, by its name.
func isID(name string) bool {
	return (name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids") || slices.Contains([]string{"retries", "reused", "undoes", "waits_for", "replaced_by"}, name)) &&
		!slices.Contains(ofOthers, name)
}

// countValues returns the number of values in a JSON text, or more: the marks between them also count in a string.
func countValues(raw []byte) int {
	return bytes.Count(raw, []byte{','}) + bytes.Count(raw, []byte{'{'}) + bytes.Count(raw, []byte{'['})
}
