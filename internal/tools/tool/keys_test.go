package tool

import (
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
		"one of two is better than none":  {list{apiKey}, [][]KeyPlace{{apiKey, appKey}}, list{apiKey}},
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
