package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/origin"
	"piloto/internal/ground/sweep"
	"piloto/internal/ground/visible"
)

// Limits of a registration.
const (
	maxName     = 80 // characters
	maxWarnings = 50
	maxSecret   = 4096 // bytes
)

// Discoverer discovers the operations of a service. It returns ErrUnreachable, ErrTarget, ErrUnauthorized,
// ErrNoDocument, ErrDocument or ErrProtocol.
type Discoverer interface {
	Discover(ctx context.Context, t Target) (Found, error)
}

// Store keeps servers, their allowlists and their keys, by account. A write is conditional on the revision that the
// caller read; when it changed, the whole write is refused.
type Store interface {
	ServerReader
	ServerLister
	EntryReader
	OperationReader
	KeyReader
	Freezer
	// CreateServer stores a server with its allowlist and its first key. It returns ErrAgentTaken, and stores nothing, when
	// the server is an agent and another agent has its name.
	CreateServer(ctx context.Context, account ids.Account, s Server, c Catalogue, key *Credential) error
	// ReplaceCatalogue moves the server's allowlist from revision seen to c.Revision in one write. It returns
	// ErrServerMoved, and changes nothing, when seen is not in force.
	ReplaceCatalogue(ctx context.Context, account ids.Account, s Server, seen string, c Catalogue) error
	// MarkServer records the result of a discovery that returned no allowlist.
	MarkServer(ctx context.Context, account ids.Account, s Server, seen string) error
	SetServerActive(ctx context.Context, account ids.Account, id string, active bool, at time.Time) (Server, error)
	SetServerReads(ctx context.Context, account ids.Account, id string, reads Reads) (Server, error)
	// ChangeKeys replaces the keys of a server by the result of change, which is called again when they changed meanwhile.
	ChangeKeys(ctx context.Context, account ids.Account, s Server, change func(Keys) (Keys, error), at time.Time) (Server, error)
	SetServerErrors(ctx context.Context, account ids.Account, id string, errors Errors) (Server, error)
	DeleteServer(ctx context.Context, account ids.Account, id string) error
	// Absent lists the servers of all accounts whose next discovery attempt is due. They are active and have no
	// allowlist yet.
	Absent(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Absent], error)
	// PutOffServer records an attempt and when the next one is due. It returns ErrServerMoved when the server is
	// absent no longer, or another process makes the attempt.
	PutOffServer(ctx context.Context, a Absent, until time.Time) error
}

// Registry registers services and keeps their allowlists current.
type Registry struct {
	Discover map[Kind]Discoverer
	Store    Store
	IDs      *ids.Source
	Policy   Policy
	Queue    *Queue // limits concurrent discoveries; nil means no limit
}

// Registration holds a request to register a service. Name may be empty: then the document's title or the host is
// used. An agent needs a name, because it is called by its name. The zero Kind means KindOpenAPI, and KindMCP for
// an agent. The fragment and the query of URL are dropped. Document is only for KindOpenAPI: it is the address of
// the document, which may be on another origin. Then the document is read from there only, and calls still go to
// URL. AllowOffline stores a service that cannot be reached now, for a later Refresh. Force stores a service that
// the account already has. A Key without a place goes where the document says, else it is sent as a bearer token.
// Reads says which calls need no confirmation: none, when it is zero. Errors is the meaning of an error of the service.
type Registration struct {
	URL          string
	Document     string
	Name         string
	Kind         Kind
	Role         Role
	About        string
	Keywords     []string
	AllowOffline bool
	Force        bool
	Key          *Credential
	Reads        WantedReads
	Errors       Errors

	// Takes gets the bytes of the allowlist before it is stored. Its error refuses the registration. nil: all are taken.
	Takes func(bytes int) error
}

// Register discovers a service and stores it with its allowlist, active.
func (r Registry) Register(ctx context.Context, account ids.Account, in Registration, at time.Time) (Server, []Entry, error) {
	s, err := r.newServer(in)
	if err != nil {
		return Server{}, nil, err
	}
	key, err := r.Policy.placeKey(in.Key, nil, "body", "key") // before a request is sent with it
	if err != nil {
		return Server{}, nil, err
	}
	sameAddress := func(have Server) bool {
		return have.Kind == s.Kind && (have.BaseURL == s.BaseURL || have.DocumentURL == withoutQuery(in.URL)) && have.DocumentSaid == s.DocumentSaid
	}
	if err := r.refuseDuplicate(ctx, account, s, in.Force, sameAddress); err != nil { // whether or not it can be read now
		return Server{}, nil, err
	}
	var keys Keys
	if key != nil {
		keys = Keys{*key}
	}
	found, err := r.discover(ctx, account, s, keys)
	if err != nil && !(in.AllowOffline && errors.Is(err, ErrUnreachable)) {
		return Server{}, nil, err
	}
	if key, keyErr := r.Policy.placeKey(in.Key, found.KeyPlaces, "body", "key"); keyErr != nil {
		return Server{}, nil, keyErr
	} else if key != nil {
		s.Keys = []KeyPlace{key.Place}
	}
	s.ID, s.CreatedAt, s.UpdatedAt = r.IDs.New(at), at, at
	var c Catalogue
	if err != nil {
		s.LastError = fault.Of(err).Code
	} else if s, c = r.apply(s, found, at); !canFillRole(s, c) {
		return Server{}, nil, ErrNoChat
	}
	if s.Reads, err = readsOf(s, c.Entries(), in.Reads, "body", "reads"); err != nil {
		return Server{}, nil, err
	}
	if s.Name == "" {
		s.Name = defaultName(found.Title, s.BaseURL)
	}
	sameDocument := func(have Server) bool { return have.BaseURL == s.BaseURL && have.DocumentURL == s.DocumentURL }
	if err := r.refuseDuplicate(ctx, account, s, in.Force, sameDocument); err != nil {
		return Server{}, nil, err
	}
	if len(s.Keys) > 0 {
		key = &Credential{Place: s.Keys[0], Secret: in.Key.Secret}
	}
	if in.Takes != nil {
		raw, err := json.Marshal(c)
		if err == nil {
			err = in.Takes(len(raw))
		}
		if err != nil {
			return Server{}, nil, err
		}
	}
	if err := r.Store.CreateServer(ctx, account, s, c, key); err != nil {
		return Server{}, nil, err
	}
	return s, c.Entries(), nil
}

// newServer returns the server that a registration describes, before discovery.
func (r Registry) newServer(in Registration) (Server, error) {
	s := Server{
		Kind: cmp.Or(in.Kind, KindOpenAPI), Role: cmp.Or(in.Role, RoleTools), Active: true, Status: Offline,
		About: in.About, Keywords: in.Keywords, Errors: in.Errors,
	}
	if s.IsAgent() {
		s.Kind = cmp.Or(in.Kind, KindMCP)
	}
	switch {
	case r.Discover[s.Kind] == nil:
		return s, ErrKind.With("kind", string(s.Kind))
	case s.Role != RoleTools && s.Role != RoleAgent, s.IsAgent() && s.Kind != KindMCP:
		return s, ErrRole.With("role", string(s.Role))
	}
	var err error
	if s.Name, err = cleanName(in.Name); err != nil {
		return s, err
	}
	if s.IsAgent() && !agentName().MatchString(s.Name) {
		return s, ErrAgentName
	}
	if s.BaseURL, err = NormalizeURL(withoutQuery(in.URL), r.Policy); err != nil || in.Document == "" {
		return s, err
	}
	if s.Kind != KindOpenAPI {
		return s, atDocument(ErrURL.With("reason", "no_documents"))
	}
	s.DocumentSaid, err = normalizeDocumentURL(in.Document, r.Policy)
	return s, err
}

var agentName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
})

// canFillRole reports whether a server has the tools that its role needs: an agent has the tool ChatTool, which
// takes a message.
func canFillRole(s Server, c Catalogue) bool {
	return !s.IsAgent() || slices.ContainsFunc(c.Operations, func(op Operation) bool {
		var schema struct{ Properties map[string]json.RawMessage }
		return op.Name == ChatTool && json.Unmarshal(op.input(), &schema) == nil && schema.Properties["message"] != nil
	})
}

// refuseDuplicate refuses a service that the account already has in the same role, by isSame. force allows it, for example
// for another key.
func (r Registry) refuseDuplicate(ctx context.Context, account ids.Account, s Server, force bool, isSame func(have Server) bool) error {
	if force {
		return nil
	}
	servers, err := r.Store.Servers(ctx, account)
	if err != nil {
		return err
	}
	for _, have := range servers {
		if s.IsAgent() && strings.EqualFold(have.Name, s.Name) {
			continue // the store refuses the duplicate name
		}
		if have.Role == s.Role && isSame(have) {
			return ErrDuplicate.With("name", have.Name).With("existing", have.ID)
		}
	}
	return nil
}

// discover waits in the queue and runs a discovery. The discovered base URL must be on the requested
// origin.
func (r Registry) discover(ctx context.Context, account ids.Account, s Server, keys Keys) (Found, error) {
	end, err := r.Queue.take(ctx, account)
	if err != nil {
		return Found{}, err
	}
	defer end()
	found, err := r.Discover[s.Kind].Discover(ctx, Target{Base: s.BaseURL, Known: s.DocumentURL, Given: s.DocumentSaid, Keys: keys})
	if err != nil {
		return Found{}, err
	}
	if !origin.Same(s.BaseURL, found.BaseURL) {
		return Found{}, ErrDocument.Because(fmt.Errorf("discovery of %s led to %s", s.BaseURL, found.BaseURL))
	}
	return found, nil
}

// apply copies the discovered data to the server, and builds the allowlist.
func (r Registry) apply(s Server, found Found, at time.Time) (Server, Catalogue) {
	c := Catalogue{Revision: r.IDs.New(at), Operations: slices.Clone(found.Operations)}
	for i := range c.Operations {
		op := &c.Operations[i]
		op.Fingerprint = Fingerprint(cmp.Or(op.Base, found.BaseURL), *op)
		op.Signature = Signature(*op)
	}
	s.BaseURL, s.DocumentURL, s.Transport, s.Frozen = found.BaseURL, found.DocumentURL, found.Transport, nil
	s.Status, s.LastError = Online, ""
	s.Catalogue, s.Operations = c.Revision, len(c.Operations)
	s.Warnings, s.Wants = found.Warnings, found.KeyPlaces
	if len(c.Operations) == 0 {
		s.Warnings = append([]string{"it describes no operation, so no plan can use it"}, s.Warnings...)
	}
	if len(s.Warnings) > maxWarnings {
		more := len(s.Warnings) - maxWarnings
		s.Warnings = append(slices.Clone(s.Warnings[:maxWarnings]), fmt.Sprintf("and %d more", more))
	}
	s.UpdatedAt, s.RefreshedAt = at, at
	return s, c
}

// Refresh discovers a server again and replaces its allowlist in one write. When the discovery fails, the old
// allowlist stays in force, the cause is stored in the server's LastError, and it is returned.
func (r Registry) Refresh(ctx context.Context, account ids.Account, id string, at time.Time) (Server, []Entry, Diff, error) {
	s, err := r.Store.Server(ctx, account, id)
	if err != nil {
		return Server{}, nil, Diff{}, err
	}
	before, err := r.Store.Entries(ctx, account, s)
	if err != nil {
		return Server{}, nil, Diff{}, err
	}
	var keys Keys
	if len(s.Keys) > 0 {
		if keys, err = r.Store.Keys(ctx, account, s); err != nil {
			return Server{}, nil, Diff{}, err
		}
	}
	found, err := r.discover(ctx, account, s, keys)
	if err != nil {
		return Server{}, nil, Diff{}, r.mark(ctx, account, s, err, at)
	}
	next, c := r.apply(s, found, at)
	if !canFillRole(next, c) {
		return Server{}, nil, Diff{}, r.mark(ctx, account, s, ErrNoChat, at)
	}
	if err := r.Store.ReplaceCatalogue(ctx, account, next, s.Catalogue, c); err != nil {
		return Server{}, nil, Diff{}, err
	}
	after := c.Entries()
	return next, after, Compare(before, after), nil
}

func (r Registry) mark(ctx context.Context, account ids.Account, s Server, cause error, at time.Time) error {
	f := fault.Of(cause)
	if f.Kind == fault.Internal || errors.Is(cause, ErrBusy) {
		return cause // an internal error, or the caller left: it proves nothing about the server
	}
	next := s
	next.LastError, next.UpdatedAt = f.Code, at
	next.Status = Online
	if errors.Is(cause, ErrUnreachable) || errors.Is(cause, ErrTarget) {
		next.Status = Offline
	}
	if err := r.Store.MarkServer(ctx, account, next, s.Catalogue); err != nil && !errors.Is(err, ErrServerMoved) {
		return err
	}
	return cause
}

// Compare returns the differences between two allowlists.
func Compare(before, after []Entry) Diff {
	old := make(map[string]string, len(before))
	for _, e := range before {
		old[e.String()] = e.Fingerprint
	}
	d := Diff{Added: []string{}, Removed: []string{}, Changed: []string{}}
	for _, e := range after {
		name := e.String()
		switch was, ok := old[name]; {
		case !ok:
			d.Added = append(d.Added, name)
		case was != e.Fingerprint:
			d.Changed = append(d.Changed, name)
		}
		delete(old, name)
	}
	for name := range old {
		d.Removed = append(d.Removed, name)
	}
	slices.Sort(d.Added)
	slices.Sort(d.Removed)
	slices.Sort(d.Changed)
	return d
}

// SetActive switches a server on or off. A server that is off can neither be proposed nor called.
func (r Registry) SetActive(ctx context.Context, account ids.Account, id string, active bool, at time.Time) (Server, error) {
	return r.Store.SetServerActive(ctx, account, id, active, at)
}

// SetKey stores a key of a server. It replaces the key of the same place, and no other.
func (r Registry) SetKey(ctx context.Context, account ids.Account, id string, key Credential, at time.Time) (Server, error) {
	placed, err := r.Policy.placeKey(&key, nil, "body")
	if err != nil {
		return Server{}, err
	}
	s, err := r.Store.Server(ctx, account, id)
	if err != nil {
		return Server{}, err
	}
	return r.Store.ChangeKeys(ctx, account, s, func(keys Keys) (Keys, error) {
		if keys = keys.With(*placed); len(keys) > MostKeys {
			return nil, ErrKey.With("reason", "too_many")
		}
		return keys, nil
	}, at)
}

// RemoveKey removes the key of one place, which is ErrKeyMissing when there is none, or all keys for the zero place.
func (r Registry) RemoveKey(ctx context.Context, account ids.Account, id string, place KeyPlace, at time.Time) (Server, error) {
	s, err := r.Store.Server(ctx, account, id)
	if err != nil {
		return Server{}, err
	}
	return r.Store.ChangeKeys(ctx, account, s, func(keys Keys) (Keys, error) {
		if place == (KeyPlace{}) {
			return nil, nil
		}
		left := keys.Without(place)
		if len(left) == len(keys) {
			return nil, ErrKeyMissing.With("in", place.In).With("name", place.Name)
		}
		return left, nil
	}, at)
}

// Delete removes a server with its allowlist and key.
func (r Registry) Delete(ctx context.Context, account ids.Account, id string) error {
	return r.Store.DeleteServer(ctx, account, id)
}

// List returns the account's servers, oldest first.
func (r Registry) List(ctx context.Context, account ids.Account) ([]Server, error) {
	list, err := r.Store.Servers(ctx, account)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Server) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// Get returns one server and its allowlist.
func (r Registry) Get(ctx context.Context, account ids.Account, id string) (Server, []Entry, error) {
	s, err := r.Store.Server(ctx, account, id)
	if err != nil {
		return Server{}, nil, err
	}
	entries, err := r.Store.Entries(ctx, account, s)
	return s, entries, err
}

// cleanName returns a name without blanks around it; "" of one that shows nothing.
func cleanName(name string) (string, error) {
	if name = strings.TrimSpace(name); visible.Blank(name) {
		return "", nil
	}
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, isControl) {
		return "", ErrName
	}
	return name, nil
}

func defaultName(title, base string) string {
	title = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(title, ""), func(r rune) bool { return isControl(r) || r == ' ' }), " ")
	if visible.Blank(title) {
		u, err := url.Parse(base)
		if err != nil {
			return "server"
		}
		title = u.Host
	}
	return clip.Runes(title, maxName)
}
