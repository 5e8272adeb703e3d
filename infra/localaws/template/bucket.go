package template

import "strconv"

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
func isKept(kind string, n node) bool {
	return kind == typeBucket && member(member(n.node, "Properties"), "VersioningConfiguration") != nil
}

func (r *reader) bucket(id string, n node) {
	b := Bucket{ID: id, Line: n.node.Line}
	n.object(handlers{
		"BucketEncryption":               acceptUnused("the disk of the machine is its owner's to encrypt"),
		"OwnershipControls":              acceptUnused("there is one owner"),
		"PublicAccessBlockConfiguration": acceptUnused("only the process reaches it"),
		"VersioningConfiguration":        object(handlers{"Status": oneOf("Enabled")}),
		"LifecycleConfiguration": object(handlers{"Rules": func(n node) {
			for _, item := range n.items() {
				b.Rules = append(b.Rules, bucketRule(item))
			}
		}}),
	})
	r.out.Buckets = append(r.out.Buckets, b)
}

func bucketRule(n node) BucketRule {
	var rule BucketRule
	n.object(handlers{
		"Id":                             into(&rule.ID),
		"Status":                         oneOf("Enabled"),
		"Prefix":                         into(&rule.Prefix),
		"ExpirationInDays":               count(&rule.Current),
		"AbortIncompleteMultipartUpload": acceptUnused("objects are written whole"),
		"ExpiredObjectDeleteMarker": func(n node) {
			oneOf("true")(n)
			rule.Markers = true
		},
		"NoncurrentVersionExpiration": func(n node) {
			n.object(handlers{
				"NoncurrentDays":          count(&rule.Days),
				"NewerNoncurrentVersions": count(&rule.Newer),
			})
			n.require("NoncurrentDays")
		},
	})
	n.require("Status")
	if rule.Markers && rule.Current > 0 {
		n.fail("has ExpirationInDays and ExpiredObjectDeleteMarker, which S3 takes in two rules")
	}
	return rule
}

// count stores a number from 1 on.
func count(to *int) handler {
	return func(n node) {
		got, err := strconv.Atoi(n.text())
		if err != nil || got < 1 {
			n.fail("must be a number from 1 on")
		}
		*to = got
	}
}
