package secretsmanager

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of the service, in bytes; maxRequest leaves room for a text in which each byte is
// escaped.
const (
	maxText        = 65536
	maxName        = 512
	maxID          = 2048
	maxDescription = 2048
	maxRequest     = 1 << 20
)

// request holds the members of a call, by their exact names. No error about a member contains its
// value.
type request map[string]json.RawMessage

// parse reads a body whose members are among those named. Others are refused, because a caller
// could believe that an ignored one took effect.
func parse(body []byte, members ...string) (request, error) {
	if !utf8.Valid(body) { // decoding would change it
		return nil, errUnreadable
	}
	var r request
	if len(body) > 0 && (json.Unmarshal(body, &r) != nil || r == nil) {
		return nil, errUnreadable
	}
	for name, value := range r {
		switch {
		case string(value) == "null":
			delete(r, name)
		case slices.Contains(members, name):
		case slices.Contains(unsupported, name): // other names are not repeated, because they could be secrets
			return nil, badParameter("This engine does not support %s", name)
		default:
			return nil, errUnreadable
		}
	}
	return r, nil
}

// unsupported lists the members of the service's calls that this engine does not support.
var unsupported = []string{
	"AddReplicaRegions", "Filters", "ForceOverwriteReplicaSecret", "KmsKeyId", "RotationToken",
	"SecretBinary", "SortBy", "SortOrder", "Tags", "Type",
}

func (r request) has(name string) bool { return r[name] != nil }

// read decodes a member into its type; an absent one leaves into unchanged.
func read[T any](r request, name string, into *T) error {
	if !r.has(name) {
		return nil
	}
	if json.Unmarshal(r[name], into) != nil {
		return refuse("SerializationException", "The value of %s is not of its type", name)
	}
	return nil
}

// text reads a member of least to most bytes. An absent one is "", and is refused only when it is
// required.
func (r request) text(name string, required bool, least, most int) (string, error) {
	member := strings.ToLower(name[:1]) + name[1:]
	if required && !r.has(name) {
		return "", invalid(member, "Member must not be null")
	}
	var text string
	if err := read(r, name, &text); err != nil {
		return "", err
	}
	switch {
	case !r.has(name):
		return "", nil
	case strings.ContainsRune(text, utf8.RuneError): // half a surrogate pair is decoded to this
		return "", refuse("SerializationException", "The value of %s is not Unicode text", name)
	case len(text) < least:
		return "", invalid(member, "Member is too short")
	case len(text) > most:
		return "", invalid(member, "Member is too long")
	}
	return text, nil
}

// secretID reads the name or ARN of the secret.
func (r request) secretID() (string, error) {
	id, err := r.text("SecretId", true, 1, maxID)
	if err == nil && !strings.HasPrefix(id, "arn:") && !validName(id) {
		return "", errName
	}
	return id, err
}

// token reads the ClientRequestToken, which is the id of the new version.
func (r request) token() (string, error) {
	if !r.has("ClientRequestToken") {
		return "", errNoToken
	}
	return r.text("ClientRequestToken", true, 32, 64)
}

// value reads the text of a secret.
func (r request) value(required bool) (opaque, error) {
	text, err := r.text("SecretString", required, 1, maxText)
	return hide(text), err
}

// validName reports whether a name is valid for a secret.
func validName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	return strings.IndexFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-/_+=.@!", c)
	}) < 0
}
