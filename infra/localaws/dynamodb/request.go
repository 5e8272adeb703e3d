package dynamodb

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// request reads an operation's members. It stores the first error of shape (a
// SerializationException) and every broken constraint (together one ValidationException); err
// returns them once all members have been read.
type request struct {
	node   *node
	parent string  // path of this structure, for messages
	faults *faults // shared with nested structures
}

type faults struct {
	shape  error
	broken []string
}

func newRequest(n *node) request { return request{node: n, faults: &faults{}} }

// err returns the faults of the members that were read so far.
func (r request) err() error {
	if r.faults.shape != nil {
		return r.faults.shape
	}
	if n := len(r.faults.broken); n > 0 {
		plural := "s"
		if n == 1 {
			plural = ""
		}
		return invalid("%d validation error%s detected: %s", n, plural, strings.Join(r.faults.broken, "; "))
	}
	return nil
}

func (r request) misshapen(format string, args ...any) {
	if r.faults.shape == nil {
		r.faults.shape = unreadable(format, args...)
	}
}

// breach stores a broken constraint on a member.
func (r request) breach(name, shown, constraint string) {
	if shown != "null" {
		shown = "'" + shown + "'"
	}
	path := strings.ToLower(name[:1]) + name[1:]
	if r.parent != "" {
		path = r.parent + "." + path
	}
	r.faults.broken = append(r.faults.broken,
		fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: %s", shown, path, constraint))
}

func (r request) reportMissing(name string) { r.breach(name, "null", "Member must not be null") }

func (r request) has(name string) bool { return r.node.get(name) != nil }

// str reads an optional string.
func (r request) str(name string) string {
	n := r.node.get(name)
	if n == nil {
		return ""
	}
	s, err := stringOf(n)
	if err != nil {
		r.misshapen("%s", err)
	}
	return s
}

// expression reads a member that is an expression. An error of its shape comes before an error of
// its text.
func (r request) expression(name string) (string, error) {
	n := r.node.get(name)
	if n == nil {
		return "", nil
	}
	s, err := stringOf(n)
	if err != nil {
		return "", unreadable("%s", err)
	}
	return s, nil
}

// shapeError is the message of a SerializationException.
type shapeError string

func (e shapeError) Error() string { return string(e) }

func stringOf(n *node) (string, error) {
	switch n.kind {
	case jsonString:
		return n.str, nil
	case jsonBool:
		return "", shapeError(strings.ToUpper(strconv.FormatBool(n.bool)) + "_VALUE cannot be converted to String")
	case jsonNumber:
		if strings.ContainsAny(n.str, ".eE") {
			return "", shapeError("DECIMAL_VALUE cannot be converted to String")
		}
		return "", shapeError("NUMBER_VALUE cannot be converted to String")
	case jsonArray:
		return "", shapeError("Unrecognized collection type class java.lang.String")
	default:
		return "", shapeError("Start of structure or map found where not expected")
	}
}

// boolean reads an optional flag.
func (r request) boolean(name string) (flag, given bool) {
	n := r.node.get(name)
	if n == nil {
		return false, false
	}
	switch n.kind {
	case jsonBool:
		return n.bool, true
	case jsonString:
		switch strings.ToUpper(n.str) {
		case "TRUE", "YES", "1":
			return true, true
		case "FALSE", "NO", "0":
			return false, true
		}
		r.misshapen("Unexpected token received from parser")
	default:
		r.notScalar(n, "Boolean")
	}
	return false, true
}

// notScalar refuses a value that is not of the required Java class.
func (r request) notScalar(n *node, class string) {
	switch n.kind {
	case jsonBool:
		r.misshapen("%s_VALUE cannot be converted to %s", strings.ToUpper(strconv.FormatBool(n.bool)), class)
	case jsonString:
		r.misshapen("STRING_VALUE cannot be converted to %s", class)
	case jsonNumber:
		r.misshapen("NUMBER_VALUE cannot be converted to %s", class)
	case jsonArray:
		r.misshapen("Unrecognized collection type class java.lang.%s", class)
	default:
		r.misshapen("Start of structure or map found where not expected")
	}
}

// integer reads an optional whole number of at least low.
func (r request) integer(name string, low, high int64) (v int64, given bool) {
	n := r.node.get(name)
	if n == nil {
		return 0, false
	}
	if n.kind != jsonNumber {
		class := "Integer"
		if high > math.MaxInt32 {
			class = "Long"
		}
		r.notScalar(n, class)
		return 0, true
	}
	f, _ := strconv.ParseFloat(n.str, 64)
	v, err := strconv.ParseInt(n.str, 10, 64)
	if err != nil {
		v = int64(math.Trunc(max(min(f, math.MaxInt32), math.MinInt32)))
	}
	if v < low {
		r.breach(name, strconv.FormatInt(v, 10), fmt.Sprintf("Member must have value greater than or equal to %d", low))
	}
	if v > high {
		r.breach(name, strconv.FormatInt(v, 10), fmt.Sprintf("Member must have value less than or equal to %d", high))
	}
	return v, true
}

// oneOf reads an optional string of a closed set, in the order AWS lists it.
func (r request) oneOf(name string, allowed ...string) string {
	s := r.str(name)
	if r.has(name) && r.faults.shape == nil && !slices.Contains(allowed, s) {
		r.breach(name, s, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
	}
	return s
}

// strs reads an optional list of strings.
func (r request) strs(name string) []string {
	var out []string
	for _, n := range r.list(name) {
		s, err := stringOf(&n)
		if err != nil {
			r.misshapen("%s", err)
		}
		out = append(out, s)
	}
	return out
}

func (r request) list(name string) []node {
	n := r.node.get(name)
	if n == nil {
		return nil
	}
	if n.kind != jsonArray {
		r.notCollection(n)
		return nil
	}
	return n.list
}

func (r request) notCollection(n *node) {
	if n.kind == jsonObject {
		r.misshapen("Start of structure or map found where not expected")
		return
	}
	r.misshapen("Unexpected field type")
}

// structs reads an optional list of structures.
func (r request) structs(name string) []request {
	var out []request
	for i, n := range r.list(name) {
		if n.kind != jsonObject {
			r.misshapen("Unexpected value type in payload")
			return nil
		}
		path := fmt.Sprintf("%s%s.%d.member", strings.ToLower(name[:1]), name[1:], i+1)
		out = append(out, request{node: &n, parent: r.join(path), faults: r.faults})
	}
	return out
}

func (r request) join(path string) string {
	if r.parent == "" {
		return path
	}
	return r.parent + "." + path
}

// object reads an optional structure; all members of an absent one are absent.
func (r request) object(name string) (inner request, given bool) {
	n := r.node.get(name)
	inner = request{node: &node{}, parent: r.join(strings.ToLower(name[:1]) + name[1:]), faults: r.faults}
	if n == nil {
		return inner, false
	}
	if n.kind != jsonObject {
		r.misshapen("Unexpected field type")
		return inner, false
	}
	inner.node = n
	return inner, true
}

const namePattern = "[a-zA-Z0-9_.-]+"

func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isDigit(c) && !isLetter(c) && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return s != ""
}

// table reads the name of a table, or its ARN.
func (r request) table() string {
	name := r.str("TableName")
	if i := strings.LastIndex(name, ":table/"); i >= 0 && strings.HasPrefix(name, "arn:") {
		name = name[i+len(":table/"):]
	}
	switch {
	case !r.has("TableName"):
		r.reportMissing("TableName")
	case name == "":
		r.breach("TableName", name, "Member must have length greater than or equal to 1")
	case !validName(name):
		r.breach("TableName", name, "Member must satisfy regular expression pattern: "+namePattern)
	case len(name) > 255:
		r.breach("TableName", name, "Member must have length less than or equal to 255")
	}
	return name
}

// item reads an item or a key; a bad value in it is a ValidationException.
func (r request) item(name string) (item, error) {
	n := r.node.get(name)
	if n == nil {
		r.reportMissing(name)
		return nil, nil
	}
	return itemOf(n)
}
