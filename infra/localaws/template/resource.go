package template

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

func errRate(text string) error {
	return fmt.Errorf("%q cannot be run here: only rate(1 minute), rate(N minutes), hours and days", text)
}

// Table is a table with the settings of CreateTable and UpdateTimeToLive.
type Table struct {
	ID         string
	Attributes []Attribute
	Key        Key
	Indexes    []Index
	TTL        string // attribute, or "" when items never expire
	Line       int
}

// Attribute is a key attribute: Type is S, N or B.
type Attribute struct {
	Name string
	Type string
}

// Key is a partition key and, unless it is "", a sort key.
type Key struct {
	Hash  string
	Range string
}

// Index is a global secondary index. Projection is ALL, KEYS_ONLY or INCLUDE; for INCLUDE, NonKey
// lists the included attributes.
type Index struct {
	Name       string
	Key        Key
	Projection string
	NonKey     []string
}

func (r *reader) table(id string, n *yaml.Node, path string) {
	t := Table{ID: id, Line: n.Line}
	r.object(n, path, handlers{
		"BillingMode":                      r.oneOf("PAY_PER_REQUEST"),
		"DeletionProtectionEnabled":        acceptUnused("nothing here deletes a table"),
		"PointInTimeRecoverySpecification": acceptUnused("a copy of the data folder is the backup"),
		"SSESpecification":                 acceptUnused("the disk of the machine is its owner's to encrypt"),
		"KeySchema":                        func(n *yaml.Node, at string) { t.Key = r.key(n, at) },
		"AttributeDefinitions": func(n *yaml.Node, at string) {
			for _, item := range r.items(n, at) {
				var a Attribute
				r.object(item, at, handlers{"AttributeName": r.into(&a.Name), "AttributeType": r.into(&a.Type)})
				t.Attributes = append(t.Attributes, a)
			}
		},
		"GlobalSecondaryIndexes": func(n *yaml.Node, at string) {
			for _, item := range r.items(n, at) {
				t.Indexes = append(t.Indexes, r.index(item, at))
			}
		},
		"TimeToLiveSpecification": r.objectHandler(handlers{
			"AttributeName": r.into(&t.TTL),
			"Enabled":       r.oneOf("true"),
		}),
	})
	r.require(n, path, "KeySchema", "AttributeDefinitions")
	r.checkKeys(t, n, path)
	r.out.Tables = append(r.out.Tables, t)
}

// checkKeys checks CreateTable's rule that the defined attributes are those of keys.
func (r *reader) checkKeys(t Table, n *yaml.Node, path string) {
	used := map[string]bool{}
	keys := []Key{t.Key}
	for _, index := range t.Indexes {
		keys = append(keys, index.Key)
	}
	for _, k := range keys {
		used[k.Hash] = true
		if k.Range != "" {
			used[k.Range] = true
		}
	}
	for _, a := range t.Attributes {
		if !used[a.Name] {
			r.fail(n, path+".AttributeDefinitions", "%q is part of no key", a.Name)
		}
		delete(used, a.Name)
	}
	for name := range used {
		r.fail(n, path+".AttributeDefinitions", "the key attribute %q is not defined", name)
	}
}

func (r *reader) key(n *yaml.Node, path string) Key {
	var k Key
	for _, item := range r.items(n, path) {
		var name, kind string
		r.object(item, path, handlers{"AttributeName": r.into(&name), "KeyType": r.into(&kind)})
		switch kind {
		case "HASH":
			k.Hash = name
		case "RANGE":
			k.Range = name
		default:
			r.fail(item, path, "the KeyType %q is neither HASH nor RANGE", kind)
		}
	}
	if k.Hash == "" {
		r.fail(n, path, "has no HASH key")
	}
	return k
}

func (r *reader) index(n *yaml.Node, path string) Index {
	var x Index
	r.object(n, path, handlers{
		"IndexName": r.into(&x.Name),
		"KeySchema": func(n *yaml.Node, at string) { x.Key = r.key(n, at) },
		"Projection": r.objectHandler(handlers{
			"ProjectionType": r.into(&x.Projection),
			"NonKeyAttributes": func(n *yaml.Node, at string) {
				for _, item := range r.items(n, at) {
					x.NonKey = append(x.NonKey, r.text(item, at))
				}
			},
		}),
	})
	r.require(n, path, "IndexName", "KeySchema", "Projection")
	return x
}

func (r *reader) stateMachine(id string, n *yaml.Node, path string) {
	m := StateMachine{ID: id, Substitutions: map[string]Value{}, Line: n.Line}
	r.object(n, path, handlers{
		"Name":                    acceptUnused("in one process it is called as its resource is"),
		"Type":                    r.oneOf("STANDARD"),
		"DefinitionUri":           r.into(&m.Definition),
		"DefinitionSubstitutions": r.values(m.Substitutions),
		"Role":                    acceptUnused("executions call functions of this process, whose own roles hold"),
		"Tracing":                 acceptUnused("there is no X-Ray"),
		"Logging":                 acceptUnused("the history of the engine is the log"),
	})
	r.require(n, path, "DefinitionUri")
	r.out.StateMachines = append(r.out.StateMachines, m)
}

// api reads the HTTP API. Every route has its default authorizer unless the route is marked as
// open.
func (r *reader) api(id string, n *yaml.Node, path string) {
	if r.out.API.ID != "" {
		r.fail(n, path, "one process serves one API, and %s is there already", r.out.API.ID)
		return
	}
	r.out.API.ID, r.out.API.Line = id, n.Line
	named := ""
	r.object(n, path, handlers{
		"CorsConfiguration":    r.cors,
		"AccessLogSettings":    acceptUnused("each request is logged by its handler"),
		"DefaultRouteSettings": acceptUnused("one machine is not throttled for its owner"),
		"Auth": r.objectHandler(handlers{
			"DefaultAuthorizer": r.into(&named),
			"Authorizers": func(n *yaml.Node, at string) {
				for key, body := range r.members(n, at) {
					r.authorizer(key.Value, body, join(at, key.Value))
				}
			},
		}),
	})
	if auth := member(member(n, "Auth"), "Authorizers"); named != "" && member(auth, named) == nil {
		r.fail(n, path+".Auth.DefaultAuthorizer", "%q is not one of its authorizers", named)
	}
}

// authorizer reads the Lambda authorizer: payload 2.0, simple responses, called for every request.
func (r *reader) authorizer(name string, n *yaml.Node, path string) {
	if r.out.API.Authorizer != "" {
		r.fail(n, path, "%s would be a second authorizer", name)
		return
	}
	r.object(n, path, handlers{
		"FunctionArn":                      func(n *yaml.Node, at string) { r.out.API.Authorizer = r.refTo(n, at, typeFunction) },
		"AuthorizerPayloadFormatVersion":   r.oneOf("2.0"),
		"EnableSimpleResponses":            r.oneOf("true"),
		"EnableFunctionDefaultPermissions": acceptUnused("functions are called directly"),
		"Identity":                         r.objectHandler(handlers{"ReauthorizeEvery": r.oneOf("0")}),
	})
	r.require(n, path, "FunctionArn", "AuthorizerPayloadFormatVersion", "EnableSimpleResponses", "Identity")
}
