package tool

import (
	"net/url"
	"slices"
	"strings"
)

// MostKeys limits the keys of one server.
const MostKeys = 10

// Keys are the keys of a server, in the order in which they were set. Each has a place of its own.
type Keys []Credential

// Places returns the places of keys.
func (k Keys) Places() []KeyPlace {
	places := make([]KeyPlace, len(k))
	for i, c := range k {
		places[i] = c.Place
	}
	return places
}

// With returns the keys with another one, which replaces the key of the same place.
func (k Keys) With(c Credential) Keys {
	return append(k.Without(c.Place), c)
}

// Without returns the keys but that of a place.
func (k Keys) Without(p KeyPlace) Keys {
	return slices.DeleteFunc(slices.Clone(k), func(c Credential) bool { return c.Place.Is(p) })
}

// At returns the keys of some places, in the order of the places.
func (k Keys) At(places []KeyPlace) Keys {
	var some Keys
	for _, p := range places {
		if i := slices.IndexFunc(k, func(c Credential) bool { return c.Place.Is(p) }); i >= 0 {
			some = append(some, k[i])
		}
	}
	return some
}

// Exchanged reports whether one of the keys is exchanged for a token.
func (k Keys) Exchanged() bool {
	return slices.ContainsFunc(k, func(c Credential) bool { return c.Place.In == "oauth" })
}

// Secrets returns the values of keys.
func (k Keys) Secrets() []string {
	secrets := make([]string, len(k))
	for i, c := range k {
		secrets[i] = c.Secret
	}
	return secrets
}

// Header is the header of a request.
type Header interface {
	Get(name string) string
	Set(name, value string)
}

// Sign adds keys to the header and the address of a request, each at its place. It returns ErrUnusableKey, and the request must not be
// sent, for a key that could split a header or has no usable place. A key of the place "oauth" has none: it is exchanged first.
func (k Keys) Sign(h Header, to *url.URL) error {
	for _, c := range k {
		if strings.ContainsAny(c.Secret+c.Place.Name, "\r\n\x00") {
			return ErrUnusableKey
		}
		switch c.Place.In {
		case "bearer":
			h.Set("Authorization", "Bearer "+c.Secret)
		case "header":
			h.Set(c.Place.Name, c.Secret)
		case "cookie":
			pair := c.Place.Name + "=" + c.Secret
			if have := h.Get("Cookie"); have != "" {
				pair = have + "; " + pair
			}
			h.Set("Cookie", pair)
		case "query":
			pair := url.QueryEscape(c.Place.Name) + "=" + url.QueryEscape(c.Secret)
			if to.RawQuery != "" {
				pair = "&" + pair
			}
			to.RawQuery += pair
		default:
			return ErrUnusableKey
		}
	}
	return nil
}

// ErrUnusableKey means that a request is not sent, because its key could split a header or has no usable place.
var ErrUnusableKey = ErrRequest.With("reason", "key").Because(ErrKey)

// Is reports whether two places are one: a key there replaces the other. A token and the client credentials that give one are in
// one place, and the names of headers have no case.
func (p KeyPlace) Is(o KeyPlace) bool { return p.identity() == o.identity() }

func (p KeyPlace) identity() KeyPlace {
	switch p.In {
	case "oauth", "bearer":
		return KeyPlace{In: "bearer"}
	case "header":
		return KeyPlace{In: "header", Name: strings.ToLower(p.Name)}
	}
	return KeyPlace{In: p.In, Name: p.Name}
}

// writes returns the part of a request that a key of the place writes: of two keys for one part, only one can be sent.
func (p KeyPlace) writes() KeyPlace {
	if id := p.identity(); id.In != "bearer" {
		return id
	}
	return KeyPlace{In: "header", Name: "authorization"}
}

// isWrittenBy reports whether a key of another place writes the same part of a request.
func (p KeyPlace) isWrittenBy(o KeyPlace) bool { return p.writes() == o.writes() }

// KeysOf returns the places of the keys that a call of an operation carries. Of the alternatives that the document names for the
// operation it is the first whose keys are all set; one without keys comes last. A key in a
// place that no part of the document names is always sent, because only a person can have known the place; so is every key where
// the document says nothing.
func (s Server) KeysOf(op Operation) []KeyPlace {
	chosen := s.alternative(op.Security)
	var places []KeyPlace
	add := func(p KeyPlace) {
		if !slices.ContainsFunc(places, p.isWrittenBy) {
			places = append(places, p)
		}
	}
	for _, p := range s.Keys {
		if containsPlace(chosen, p) || slices.ContainsFunc(op.Needs, p.isWrittenBy) {
			add(p)
		}
	}
	for _, p := range slices.Backward(s.Keys) { // of two for one part, the one that was set last
		if op.Security == nil || !containsPlace(s.Wants, p) {
			add(p)
		}
	}
	return places
}

// MissingKeys returns the places of keys that an operation requires and that are not set: of a required header, and of several
// keys that it needs together, of which a part proves nothing. Where one key would do and none is set, the call is sent without
// it: documents of services behind a network ask for keys that nobody needs there.
func (s Server) MissingKeys(op Operation) []KeyPlace {
	missing := slices.DeleteFunc(slices.Clone(op.Needs), func(p KeyPlace) bool { return slices.ContainsFunc(s.Keys, p.isWrittenBy) })
	var nearest, first []KeyPlace
	for _, one := range op.Security {
		switch unset := s.unset(one); {
		case len(unset) == 0:
			return missing
		case len(unset) < len(one) && (nearest == nil || len(unset) < len(nearest)):
			nearest = unset
		case first == nil || len(unset) < len(first):
			first = unset
		}
	}
	if nearest == nil && len(first) > 1 {
		nearest = first
	}
	return append(missing, nearest...)
}

// alternative returns the first requirement whose keys are all set, one without keys last; nil for none.
func (s Server) alternative(all [][]KeyPlace) []KeyPlace {
	for _, one := range all {
		if len(one) > 0 && len(s.unset(one)) == 0 {
			return one
		}
	}
	return nil
}

// unset returns those of some places where no key is set.
func (s Server) unset(places []KeyPlace) []KeyPlace {
	return slices.DeleteFunc(slices.Clone(places), func(p KeyPlace) bool { return containsPlace(s.Keys, p) })
}

func containsPlace(list []KeyPlace, p KeyPlace) bool {
	return slices.ContainsFunc(list, p.Is)
}

// Auth writes places in one line, the same for the same places; it is empty for none.
func Auth(places []KeyPlace) string {
	lines := make([]string, len(places))
	for i, p := range places {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// KeyState is a place that a document or a person named for a key of a server: whether the document wants one there, and whether
// one is set.
type KeyState struct {
	KeyPlace
	Wanted bool `json:"wanted"`
	Set    bool `json:"set"`
}

// KeyStates lists the places of a server's keys: those that the document wants, then the others that are set.
func (s Server) KeyStates() []KeyState {
	list := []KeyState{}
	for _, p := range s.Wants {
		state := KeyState{KeyPlace: p, Wanted: true}
		if i := slices.IndexFunc(s.Keys, p.Is); i >= 0 {
			state.KeyPlace, state.Set = s.Keys[i], true
		}
		list = append(list, state)
	}
	for _, p := range s.Keys {
		if !containsPlace(s.Wants, p) {
			list = append(list, KeyState{KeyPlace: p, Set: true})
		}
	}
	return list
}
