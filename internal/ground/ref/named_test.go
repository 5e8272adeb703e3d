package ref_test

import (
	"reflect"
	"strings"
	"testing"

	"piloto/internal/ground/ref"
)

func TestAMemberIsCalledAsTheDocumentSays(t *testing.T) {
	names := []ref.Named{{Name: "price", Label: "Precio"}, {Name: "at", Label: "Lugar"}, {Name: "Full Name", Label: "Nombre"}, {Name: "plain"}}
	for name, want := range map[string]string{
		"price": "Precio", "room price": "ROOM Precio", "at city": "Lugar CITY", "Full Name": "Nombre", "plain": "PLAIN", "prices": "PRICES", "": "", "at price": "Lugar Precio",
	} {
		got, has := ref.Called(names, name, strings.ToUpper)
		if got != want || has != (want != strings.ToUpper(name)) {
			t.Errorf("%q: %q %v, want %q", name, got, has, want)
		}
	}
	if got := ref.NamedIn(names, `{"price":1,"ats":2,"plain":3}`); !reflect.DeepEqual(got, names[:1]) {
		t.Error(got)
	}
}
