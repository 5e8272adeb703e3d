package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// withFormats returns a schema that also checks the formats of identifiers. JSON Schema does not know most of their names, and takes a
// UUID of one version for one of another. Each of them becomes a pattern.
func withFormats(raw json.RawMessage) json.RawMessage {
	var schema any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&schema) != nil || !addFormats(schema) {
		return raw
	}
	with, err := json.Marshal(schema)
	if err != nil {
		return raw
	}
	return with
}

// addFormats adds the patterns to a schema and all of its parts, and reports whether there are any.
func addFormats(part any) (added bool) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			added = addFormats(one) || added
		}
	case map[string]any:
		for _, one := range part {
			added = addFormats(one) || added
		}
		name, _ := part["format"].(string)
		if pattern := patternOfFormat(name); pattern != "" {
			all, _ := part["allOf"].([]any)
			part["allOf"], added = append(all, map[string]any{"pattern": pattern}), true
		}
	}
	return added
}

// patternOfFormat returns the pattern of the format of an identifier, and "" for another format.
func patternOfFormat(name string) string {
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "ulid"):
		return "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
	case strings.Contains(name, "uuid"), strings.Contains(name, "guid"):
		return fmt.Sprintf("^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-%s[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$", versionIn(name))
	case name == "ksuid":
		return "^[0-9A-Za-z]{27}$"
	case name == "nanoid":
		return "^[0-9A-Za-z_-]{21}$"
	case name == "byte", name == "base64":
		return "^([0-9A-Za-z+/]{4})+$" // without filling
	}
	return ""
}

// versionIn returns the version that the name of a UUID ends with, or any: "uuid-v4" does, "uuid-rfc4122" does not.
func versionIn(name string) string {
	last := len(name) - 1
	if isDigit := func(c byte) bool { return c >= '0' && c <= '9' }; isDigit(name[last]) && !isDigit(name[last-1]) {
		return name[last:]
	}
	return "[1-8]"
}
