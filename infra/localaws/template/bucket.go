package template

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Bucket is a bucket with versioning. A bucket without it has no counterpart in one process.
type Bucket struct {
	ID    string
	Rules []BucketRule
	Line  int
}

// BucketRule is a rule of a lifecycle.
type BucketRule struct {
	ID      string
	Prefix  string
	Current int  // an object is deleted so many days after it was made; 0: none is
	Days    int  // a version expires so many days after it was replaced; 0: none expires
	Newer   int  // so many of these versions do not expire
	Markers bool // a delete marker without versions below it expires
}

// isKept reports whether a resource is a bucket with versioning.
func (r *reader) isKept(kind string, n *yaml.Node) bool {
	return kind == typeBucket && member(member(n, "Properties"), "VersioningConfiguration") != nil
}

func (r *reader) bucket(id string, n *yaml.Node, path string) {
	b := Bucket{ID: id, Line: n.Line}
	r.object(n, path, handlers{
		"BucketEncryption":               acceptUnused("the disk of the machine is its owner's to encrypt"),
		"OwnershipControls":              acceptUnused("there is one owner"),
		"PublicAccessBlockConfiguration": acceptUnused("only the process reaches it"),
		"VersioningConfiguration":        r.objectHandler(handlers{"Status": r.oneOf("Enabled")}),
		"LifecycleConfiguration": r.objectHandler(handlers{"Rules": func(n *yaml.Node, at string) {
			for _, item := range r.items(n, at) {
				b.Rules = append(b.Rules, r.bucketRule(item, at))
			}
		}}),
	})
	r.out.Buckets = append(r.out.Buckets, b)
}

func (r *reader) bucketRule(n *yaml.Node, path string) BucketRule {
	var rule BucketRule
	r.object(n, path, handlers{
		"Id":                             r.into(&rule.ID),
		"Status":                         r.oneOf("Enabled"),
		"Prefix":                         r.into(&rule.Prefix),
		"ExpirationInDays":               r.count(&rule.Current),
		"AbortIncompleteMultipartUpload": acceptUnused("objects are written whole"),
		"ExpiredObjectDeleteMarker": func(n *yaml.Node, at string) {
			r.oneOf("true")(n, at)
			rule.Markers = true
		},
		"NoncurrentVersionExpiration": func(n *yaml.Node, at string) {
			r.object(n, at, handlers{
				"NoncurrentDays":          r.count(&rule.Days),
				"NewerNoncurrentVersions": r.count(&rule.Newer),
			})
			r.require(n, at, "NoncurrentDays")
		},
	})
	r.require(n, path, "Status")
	if rule.Markers && rule.Current > 0 {
		r.fail(n, path, "has ExpirationInDays and ExpiredObjectDeleteMarker, which S3 takes in two rules")
	}
	return rule
}

// count stores a number from 1 on.
func (r *reader) count(to *int) handler {
	return func(n *yaml.Node, path string) {
		got, err := strconv.Atoi(r.text(n, path))
		if err != nil || got < 1 {
			r.fail(n, path, "must be a number from 1 on")
		}
		*to = got
	}
}
