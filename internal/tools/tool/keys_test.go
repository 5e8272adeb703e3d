package tool

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
)

var (
	apiKey = KeyPlace{In: "header", Name: "DD-API-KEY"}
	appKey = KeyPlace{In: "header", Name: "DD-APPLICATION-KEY"}
	token  = KeyPlace{In: "bearer"}
	basic  = KeyPlace{In: "header", Name: "Authorization"}
	client = KeyPlace{In: "oauth", Name: "app", TokenURL: "https://a.example/token"}
	own    = KeyPlace{In: "header", Name: "X-Own"}
	cookie = KeyPlace{In: "cookie", Name: "sid"}
)

func TestRequirementsDecideWhichKeysAreSent(t *testing.T) {
	type list = []KeyPlace
	wants := list{apiKey, appKey, token, basic, cookie}
	for name, c := range map[string]struct {
		set      list
		security [][]KeyPlace
		want     list
	}{
		"both":                            {list{apiKey, appKey}, [][]KeyPlace{{apiKey, appKey}}, list{apiKey, appKey}},
		"in any spelling":                 {list{{In: "header", Name: "dd-api-key"}}, [][]KeyPlace{{apiKey}}, list{{In: "header", Name: "dd-api-key"}}},
		"one of two proves nothing":       {list{apiKey}, [][]KeyPlace{{apiKey, appKey}}, nil},
		"nobody knows which":              {list{apiKey, own}, [][]KeyPlace{}, list{own}},
		"the alternative that is set":     {list{appKey}, [][]KeyPlace{{apiKey}, {appKey}}, list{appKey}},
		"the first of two that are set":   {list{appKey, apiKey}, [][]KeyPlace{{apiKey}, {appKey}}, list{apiKey}},
		"a whole one before a part":       {list{apiKey, token}, [][]KeyPlace{{apiKey, appKey}, {token}}, list{token}},
		"none needed":                     {list{apiKey}, [][]KeyPlace{{}}, nil},
		"optional, and set":               {list{apiKey}, [][]KeyPlace{{}, {apiKey}}, list{apiKey}},
		"optional, and a part is set":     {list{apiKey}, [][]KeyPlace{{}, {apiKey, appKey}}, nil},
		"another operation's":             {list{apiKey}, [][]KeyPlace{{token}}, nil},
		"the document says nothing":       {list{apiKey, token}, nil, list{token, apiKey}},
		"a place of a person's own":       {list{own, token}, [][]KeyPlace{{token}}, list{token, own}},
		"its own where none is needed":    {list{own}, [][]KeyPlace{{}}, list{own}},
		"client credentials give a token": {list{client}, [][]KeyPlace{{token}}, list{client}},
		"basic where it is asked for":     {list{token, basic}, [][]KeyPlace{{basic}}, list{basic}},
		"a token where it is asked for":   {list{token, basic}, [][]KeyPlace{{token}}, list{token}},
		"one Authorization, the last":     {list{token, basic}, nil, list{basic}},
		"a cookie":                        {list{cookie}, [][]KeyPlace{{cookie}}, list{cookie}},
	} {
		got := Server{Keys: c.set, Wants: wants}.KeysOf(Operation{Security: c.security})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestKeysThatAreNeededTogetherMustAllBeSet: a part of them is not sent, and the operation is refused, with the places of the
// others. One key may be left out, because services behind a network often need none.
func TestKeysThatAreNeededTogetherMustAllBeSet(t *testing.T) {
	type list = []KeyPlace
	for name, c := range map[string]struct {
		set      list
		security [][]KeyPlace
		needs    list
		want     list
	}{
		"both":                           {list{apiKey, appKey}, [][]KeyPlace{{apiKey, appKey}}, nil, nil},
		"one of two":                     {list{appKey}, [][]KeyPlace{{apiKey, appKey}}, nil, list{apiKey}},
		"none of two":                    {nil, [][]KeyPlace{{apiKey, appKey}}, nil, list{apiKey, appKey}},
		"none of one":                    {nil, [][]KeyPlace{{apiKey}}, nil, nil},
		"another operation's":            {list{own}, [][]KeyPlace{{apiKey}}, nil, nil},
		"none of two, or of one":         {nil, [][]KeyPlace{{apiKey, appKey}, {token}}, nil, nil},
		"one of two, or one":             {list{apiKey}, [][]KeyPlace{{apiKey, appKey}, {token}}, nil, list{appKey}},
		"one of two, and the other one":  {list{apiKey, token}, [][]KeyPlace{{apiKey, appKey}, {token}}, nil, nil},
		"one of two, or none":            {list{apiKey}, [][]KeyPlace{{apiKey, appKey}, {}}, nil, nil},
		"the nearest":                    {list{apiKey, token}, [][]KeyPlace{{apiKey, appKey, cookie}, {token, basic}}, nil, list{basic}},
		"a header that is a key":         {list{apiKey}, [][]KeyPlace{{apiKey}}, list{own}, list{own}},
		"the document says nothing":      {list{apiKey}, nil, nil, nil},
		"nobody knows which":             {list{apiKey}, [][]KeyPlace{}, nil, nil},
		"client credentials are a token": {list{client, apiKey}, [][]KeyPlace{{token, apiKey}}, nil, nil},
	} {
		op := Operation{Entry: Entry{Method: "POST", Path: "/o"}, Security: c.security, Needs: c.needs}
		s := Server{Keys: c.set, BaseURL: "https://a.example"}
		if got := s.MissingKeys(op); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if _, err := Build(s, op, Arguments{Method: "POST", Path: "/o"}); (err != nil) != (len(c.want) > 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoReadableRequirementIsNoSilence: a requirement that cannot be read is not taken for none.
func TestNoReadableRequirementIsNoSilence(t *testing.T) {
	for _, security := range [][][]KeyPlace{nil, {}} {
		raw, err := json.Marshal(Operation{Security: security})
		var back Operation
		if err != nil || json.Unmarshal(raw, &back) != nil || (back.Security == nil) != (security == nil) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestAKeyReplacesThatOfItsPlaceOnly(t *testing.T) {
	r, _, store := registry()
	s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Key: &Credential{Place: token, Secret: "first"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Credential{{apiKey, "one"}, {appKey, "two"}, {KeyPlace{In: "header", Name: "dd-api-key"}, "three"}, {client, "four"}} {
		if s, err = r.SetKey(t.Context(), "acc", s.ID, c, now); err != nil {
			t.Fatal(err)
		}
	}
	if got := store.keys["acc/"+s.ID].Secrets(); !slices.Equal(got, []string{"two", "three", "four"}) || len(s.Keys) != 3 {
		t.Errorf("%v %v", got, s.Keys)
	}
	if _, err := r.RemoveKey(t.Context(), "acc", s.ID, own, now); !errors.Is(err, ErrKeyMissing) {
		t.Errorf("%v, want ErrKeyMissing", err)
	}
	if s, err = r.RemoveKey(t.Context(), "acc", s.ID, apiKey, now); err != nil || !slices.Equal(s.Keys, []KeyPlace{appKey, client}) {
		t.Errorf("%v %v", s.Keys, err)
	}
	states := Server{Keys: s.Keys, Wants: []KeyPlace{apiKey, token}}.KeyStates()
	want := []KeyState{{apiKey, true, false}, {client, true, true}, {appKey, false, true}}
	if !slices.Equal(states, want) {
		t.Errorf("%+v", states)
	}
	for i := range MostKeys {
		_, err = r.SetKey(t.Context(), "acc", s.ID, Credential{KeyPlace{In: "query", Name: string(rune('a' + i))}, "x"}, now)
	}
	if !errors.Is(err, ErrKey) {
		t.Errorf("%v, want ErrKey", err)
	}
}

func TestSignWritesEachKeyAtItsPlace(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://a.example/x?a=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := Keys{{apiKey, "one"}, {token, "two"}, {KeyPlace{In: "query", Name: "k"}, "three&"}, {cookie, "four"}, {KeyPlace{In: "cookie", Name: "x"}, "five"}}
	if err := keys.Sign(req.Header, req.URL); err != nil {
		t.Fatal(err)
	}
	if h := req.Header; h.Get("Dd-Api-Key") != "one" || h.Get("Authorization") != "Bearer two" || h.Get("Cookie") != "sid=four; x=five" || req.URL.RawQuery != "a=1&k=three%26" {
		t.Errorf("%v %s", h, req.URL)
	}
	for _, bad := range []Credential{{client, "secret"}, {apiKey, "a\r\nHost: b"}, {KeyPlace{In: "header", Name: "a\nb"}, "x"}, {KeyPlace{}, "x"}} {
		if err := (Keys{bad}).Sign(req.Header, req.URL); !errors.Is(err, ErrRequest) {
			t.Errorf("%v: %v", bad.Place, err)
		}
	}
}
