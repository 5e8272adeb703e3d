package template

import "fmt"

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

func (r *reader) table(id string, n node) {
	t := Table{ID: id, Line: n.node.Line}
	n.object(handlers{
		"BillingMode":                      oneOf("PAY_PER_REQUEST"),
		"DeletionProtectionEnabled":        acceptUnused("nothing here deletes a table"),
		"PointInTimeRecoverySpecification": acceptUnused("a copy of the data folder is the backup"),
		"SSESpecification":                 acceptUnused("the disk of the machine is its owner's to encrypt"),
		"KeySchema":                        func(n node) { t.Key = readKey(n) },
		"AttributeDefinitions": func(n node) {
			for _, item := range n.items() {
				var a Attribute
				item.object(handlers{"AttributeName": into(&a.Name), "AttributeType": into(&a.Type)})
				t.Attributes = append(t.Attributes, a)
			}
		},
		"GlobalSecondaryIndexes": func(n node) {
			for _, item := range n.items() {
				t.Indexes = append(t.Indexes, readIndex(item))
			}
		},
		"TimeToLiveSpecification": object(handlers{
			"AttributeName": into(&t.TTL),
			"Enabled":       oneOf("true"),
		}),
	})
	n.require("KeySchema", "AttributeDefinitions")
	t.checkKeys(n)
	r.out.Tables = append(r.out.Tables, t)
}

// checkKeys checks CreateTable's rule that the defined attributes are those of keys.
func (t Table) checkKeys(n node) {
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
			n.below("AttributeDefinitions").fail("%q is part of no key", a.Name)
		}
		delete(used, a.Name)
	}
	for name := range used {
		n.below("AttributeDefinitions").fail("the key attribute %q is not defined", name)
	}
}

func readKey(n node) Key {
	var k Key
	for _, item := range n.items() {
		var name, kind string
		item.object(handlers{"AttributeName": into(&name), "KeyType": into(&kind)})
		switch kind {
		case "HASH":
			k.Hash = name
		case "RANGE":
			k.Range = name
		default:
			item.fail("the KeyType %q is neither HASH nor RANGE", kind)
		}
	}
	if k.Hash == "" {
		n.fail("has no HASH key")
	}
	return k
}

func readIndex(n node) Index {
	var x Index
	n.object(handlers{
		"IndexName": into(&x.Name),
		"KeySchema": func(n node) { x.Key = readKey(n) },
		"Projection": object(handlers{
			"ProjectionType":   into(&x.Projection),
			"NonKeyAttributes": list(&x.NonKey),
		}),
	})
	n.require("IndexName", "KeySchema", "Projection")
	return x
}

func (r *reader) stateMachine(id string, n node) {
	m := StateMachine{ID: id, Substitutions: map[string]Value{}, Line: n.node.Line}
	n.object(handlers{
		"Name":                    acceptUnused("in one process it is called as its resource is"),
		"Type":                    oneOf("STANDARD"),
		"DefinitionUri":           into(&m.Definition),
		"DefinitionSubstitutions": values(m.Substitutions),
		"Role":                    acceptUnused("executions call functions of this process, whose own roles hold"),
		"Tracing":                 acceptUnused("there is no X-Ray"),
		"Logging":                 acceptUnused("the history of the engine is the log"),
	})
	n.require("DefinitionUri")
	r.out.StateMachines = append(r.out.StateMachines, m)
}

// api reads the HTTP API. Every route has its default authorizer unless the route is marked as
// open.
func (r *reader) api(id string, n node) {
	if r.out.API.ID != "" {
		n.fail("one process serves one API, and %s is there already", r.out.API.ID)
		return
	}
	r.out.API.ID, r.out.API.Line = id, n.node.Line
	named := ""
	n.object(handlers{
		"CorsConfiguration":    r.cors,
		"AccessLogSettings":    acceptUnused("each request is logged by its handler"),
		"DefaultRouteSettings": acceptUnused("one machine is not throttled for its owner"),
		"Auth": object(handlers{
			"DefaultAuthorizer": into(&named),
			"Authorizers": func(n node) {
				for key, body := range n.members() {
					r.authorizer(key.name(), body)
				}
			},
		}),
	})
	if auth := member(member(n.node, "Auth"), "Authorizers"); named != "" && member(auth, named) == nil {
		n.below("Auth.DefaultAuthorizer").fail("%q is not one of its authorizers", named)
	}
}

// authorizer reads the Lambda authorizer: payload 2.0, simple responses, called for every request.
func (r *reader) authorizer(name string, n node) {
	if r.out.API.Authorizer != "" {
		n.fail("%s would be a second authorizer", name)
		return
	}
	n.object(handlers{
		"FunctionArn":                      func(n node) { r.out.API.Authorizer = r.refTo(n, typeFunction) },
		"AuthorizerPayloadFormatVersion":   oneOf("2.0"),
		"EnableSimpleResponses":            oneOf("true"),
		"EnableFunctionDefaultPermissions": acceptUnused("functions are called directly"),
		"Identity":                         object(handlers{"ReauthorizeEvery": oneOf("0")}),
	})
	n.require("FunctionArn", "AuthorizerPayloadFormatVersion", "EnableSimpleResponses", "Identity")
}
