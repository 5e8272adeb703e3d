package dynamodb

import (
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// No member of an input is lost: a client of this process carries it or refuses it.
func TestClientCarriesOrRefusesEveryMember(t *testing.T) {
	checkMembers(t, getNode)
	checkMembers(t, putNode)
	checkMembers(t, updateNode)
	checkMembers(t, deleteNode)
	checkMembers(t, queryNode)
	checkMembers(t, batchWriteNode)
	checkMembers(t, transactNode)
}

func checkMembers[I any](t *testing.T, read func(*I) *members) {
	t.Helper()
	for _, path := range memberPaths(reflect.TypeFor[I]()) {
		in := new(I)
		give(reflect.ValueOf(in).Elem(), path)
		m := read(in)
		name := path[len(path)-1]
		if m.refused != name && !mentions(&m.node, name) {
			t.Errorf("%T: %v is neither carried nor refused", in, path)
		}
	}
}

// memberPaths returns the paths of all members of a structure that are not structures themselves.
func memberPaths(s reflect.Type) [][]string {
	var all [][]string
	for i := range s.NumField() {
		f := s.Field(i)
		if !f.IsExported() {
			continue
		}
		inner := element(f.Type)
		if inner.Kind() != reflect.Struct {
			all = append(all, []string{f.Name})
			continue
		}
		for _, path := range memberPaths(inner) {
			if isLegacy(inner) {
				all = append(all, []string{f.Name})
				break
			}
			all = append(all, append([]string{f.Name}, path...))
		}
	}
	return all
}

// isLegacy reports whether a structure belongs to a member from before there were expressions.
func isLegacy(s reflect.Type) bool {
	return slices.Contains([]reflect.Type{
		reflect.TypeFor[types.ExpectedAttributeValue](), reflect.TypeFor[types.AttributeValueUpdate](), reflect.TypeFor[types.Condition](),
	}, s)
}

// element returns the type in the middle of pointers, lists and maps.
func element(of reflect.Type) reflect.Type {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return element(of.Elem())
	default:
		return of
	}
}

// give sets the member at a path to a value that is not zero, and makes what is around it.
func give(s reflect.Value, path []string) {
	f := s.FieldByName(path[0])
	inside := func(v reflect.Value) {
		if len(path) > 1 {
			give(v, path[1:])
		}
	}
	f.Set(filled(f.Type(), inside))
}

func filled(of reflect.Type, inside func(reflect.Value)) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(filled(of.Elem(), inside))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(of.Elem(), inside)))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(filled(of.Key(), inside), filled(of.Elem(), inside))
	case reflect.Struct:
		inside(v)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32:
		v.SetInt(1)
	case reflect.Interface:
		v.Set(reflect.ValueOf(&types.AttributeValueMemberS{Value: "x"}))
	}
	return v
}

// mentions reports whether a request has a member of that name, at any depth.
func mentions(n *node, name string) bool {
	for i := range n.fields {
		if n.fields[i].name == name || mentions(&n.fields[i].value, name) {
			return true
		}
	}
	return slices.ContainsFunc(n.list, func(e node) bool { return mentions(&e, name) })
}
