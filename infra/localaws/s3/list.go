package s3

import (
	"encoding/base64"
	"encoding/xml"
	"localaws/disk"
	"net/http"
	"strings"
	"time"
)

// stamp is the form of a time in listings.
const stamp = "2006-01-02T15:04:05.000Z"

func stamped(t time.Time) string { return t.UTC().Format(stamp) }

type object struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
	StorageClass string
}

type objects struct {
	XMLName      xml.Name `xml:"ListBucketResult"`
	Namespace    string   `xml:"xmlns,attr"`
	Name         string
	Prefix       string
	StartAfter   string `xml:",omitempty"`
	Token        string `xml:"ContinuationToken,omitempty"`
	NextToken    string `xml:"NextContinuationToken,omitempty"`
	KeyCount     int
	MaxKeys      int
	EncodingType string `xml:",omitempty"`
	IsTruncated  bool
	Contents     []object
}

// listObjects lists the current versions of objects, by key.
func (e *Engine) listObjects(in *request) (*response, error) {
	l, err := in.list()
	if err != nil {
		return nil, err
	}
	if in.query.Get("list-type") != "2" {
		return nil, notImplemented("list-type")
	}
	after := in.query.Get("start-after")
	out := objects{Namespace: namespace, Name: in.bucket, MaxKeys: l.most, EncodingType: in.query.Get("encoding-type"), Token: in.query.Get("continuation-token")}
	if out.Prefix, err = l.text(l.prefix); err != nil {
		return nil, err
	}
	if out.StartAfter, err = l.text(after); err != nil {
		return nil, err
	}
	if in.query.Has("continuation-token") {
		last, err := base64.RawURLEncoding.DecodeString(out.Token)
		if err != nil || len(last) == 0 {
			return nil, invalidArgument("continuation-token", "The continuation token provided is incorrect")
		}
		after = string(last)
	}
	err = e.store.View(func(tx *disk.Tx) error {
		_, table, err := bucketOf(tx, in.bucket)
		if err != nil {
			return err
		}
		return out.fill(readerOf(table), l, after)
	})
	return &response{status: http.StatusOK, out: out}, err
}

// fill adds the objects of a page: those after a key.
func (o *objects) fill(r *reader, l list, after string) error {
	from := l.prefix
	if after >= from && after != "" {
		from = after + "\x01"
	}
	last := ""
	for more := r.seek(from); more && strings.HasPrefix(r.key, l.prefix); more = r.nextKey() {
		v := r.version
		if v.Marker {
			continue
		}
		if len(o.Contents) == l.most {
			o.IsTruncated = l.most > 0
			break
		}
		last = r.key
		key, err := l.text(r.key)
		if err != nil {
			return err
		}
		o.Contents = append(o.Contents, object{key, stamped(v.Made), quoted(v.ETag), v.Size, "STANDARD"})
	}
	o.KeyCount = len(o.Contents)
	if o.IsTruncated {
		o.NextToken = base64.RawURLEncoding.EncodeToString([]byte(last))
	}
	return r.err
}

// listed is one version or marker: its name in XML says which.
type listed struct {
	XMLName      xml.Name
	Key          string
	VersionID    string `xml:"VersionId"`
	IsLatest     bool
	LastModified string
	ETag         string `xml:",omitempty"`
	Size         *int64
	StorageClass string `xml:",omitempty"`
}

type versions struct {
	XMLName         xml.Name `xml:"ListVersionsResult"`
	Namespace       string   `xml:"xmlns,attr"`
	Name            string
	Prefix          string
	KeyMarker       string
	VersionMarker   string `xml:"VersionIdMarker"`
	NextKeyMarker   string `xml:",omitempty"`
	NextVersion     string `xml:"NextVersionIdMarker,omitempty"`
	MaxKeys         int
	EncodingType    string `xml:",omitempty"`
	IsTruncated     bool
	Versions        []listed
	lastKey, lastID string
}

// listVersions lists all versions and markers, by key, the newest first.
func (e *Engine) listVersions(in *request) (*response, error) {
	l, err := in.list()
	if err != nil {
		return nil, err
	}
	keyMarker, idMarker := in.query.Get("key-marker"), in.query.Get("version-id-marker")
	if idMarker != "" && keyMarker == "" {
		return nil, invalidArgument("version-id-marker", "A version-id marker cannot be specified without a key marker.")
	}
	out := versions{Namespace: namespace, Name: in.bucket, MaxKeys: l.most, EncodingType: in.query.Get("encoding-type"), VersionMarker: idMarker}
	if out.Prefix, err = l.text(l.prefix); err != nil {
		return nil, err
	}
	if out.KeyMarker, err = l.text(keyMarker); err != nil {
		return nil, err
	}
	err = e.store.View(func(tx *disk.Tx) error {
		_, table, err := bucketOf(tx, in.bucket)
		if err != nil {
			return err
		}
		return out.fill(readerOf(table), l, keyMarker, idMarker)
	})
	return &response{status: http.StatusOK, out: out}, err
}

// fill adds the versions of a page: those after a version of a key, or after a key.
func (o *versions) fill(r *reader, l list, key, id string) error {
	more := false
	switch {
	case key == "" || key < l.prefix:
		more = r.seek(l.prefix)
	case id == "":
		more = r.seek(key + "\x01")
	default:
		for more = r.seek(key + "\x00"); more && r.key == key && r.version.ID != id; more = r.next() {
		}
		if !more || r.key != key {
			return invalidArgument("version-id-marker", "Invalid version id specified")
		}
		more = r.next()
	}
	for ; more && strings.HasPrefix(r.key, l.prefix); more = r.next() {
		if len(o.Versions) == l.most {
			o.IsTruncated = l.most > 0
			break
		}
		one, err := l.one(r)
		if err != nil {
			return err
		}
		o.Versions = append(o.Versions, one)
		o.lastKey, o.lastID = one.Key, one.VersionID
	}
	if o.IsTruncated {
		o.NextKeyMarker, o.NextVersion = o.lastKey, o.lastID
	}
	return r.err
}

// one returns the version that a reader is at.
func (l list) one(r *reader) (listed, error) {
	v := r.version
	key, err := l.text(r.key)
	out := listed{XMLName: xml.Name{Local: "Version"}, Key: key, VersionID: v.ID, IsLatest: r.newest, LastModified: stamped(v.Made)}
	if v.Marker {
		out.XMLName.Local = "DeleteMarker"
		return out, err
	}
	out.ETag, out.Size, out.StorageClass = quoted(v.ETag), &v.Size, "STANDARD"
	return out, err
}
