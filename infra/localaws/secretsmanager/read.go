package secretsmanager

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"time"
)

// instant is a time on the wire: seconds since 1970, to the millisecond.
type instant time.Time

// IsZero reports whether the time is unset.
func (i instant) IsZero() bool { return time.Time(i).IsZero() }

// MarshalJSON implements json.Marshaler.
func (i instant) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Time(i).UnixMilli())/1000, 'f', 3, 64), nil
}

// value is the response of GetSecretValue.
type value struct {
	ARN           string
	Name          string
	VersionID     string `json:"VersionId"`
	SecretString  opaque
	VersionStages []string
	CreatedDate   instant
}

func (e *Engine) get(r request) (any, error) {
	id, err := r.secretID()
	if err != nil {
		return nil, err
	}
	versionID, err := r.text("VersionId", false, 32, 64)
	if err != nil {
		return nil, err
	}
	stage, err := r.text("VersionStage", false, 1, 256)
	if err != nil {
		return nil, err
	}
	s, _, err := e.find(id)
	if err != nil {
		return nil, err
	}
	if s.isDeleted() {
		return nil, errMarked
	}
	v, err := s.selectVersion(versionID, stage)
	if err != nil {
		return nil, err
	}
	return value{s.ARN, s.Name, v.ID, v.Text, v.Stages, instant(v.Created)}, nil
}

// selectVersion returns the version with an id and a label, each of which may be empty.
func (s *secret) selectVersion(id, stage string) (*version, error) {
	if id == "" {
		if stage == "" {
			stage = stageCurrent
		}
		if v := s.versionWith(stage); v != nil {
			return v, nil
		}
		return nil, notFound("Secrets Manager can't find the specified secret value for staging label: %s", stage)
	}
	v := s.version(id)
	if v == nil {
		return nil, notFound("Secrets Manager can't find the specified secret value for VersionId: %s", id)
	}
	if stage != "" && !slices.Contains(v.Stages, stage) {
		return nil, errMismatch
	}
	return v, nil
}

// description is the response of DescribeSecret, and an entry of ListSecrets.
type description struct {
	ARN                    string
	Name                   string
	Description            string              `json:",omitempty"`
	CreatedDate            instant             `json:",omitzero"`
	LastChangedDate        instant             `json:",omitzero"`
	DeletedDate            instant             `json:",omitzero"`
	VersionIDsToStages     map[string][]string `json:"VersionIdsToStages,omitempty"`
	SecretVersionsToStages map[string][]string `json:",omitempty"`
}

func (s *secret) describe() description {
	return description{
		ARN: s.ARN, Name: s.Name, Description: s.Description,
		CreatedDate: instant(s.Created), LastChangedDate: instant(s.Changed), DeletedDate: instant(s.Deleted),
	}
}

func (s *secret) stages() map[string][]string {
	stages := map[string][]string{}
	for _, v := range s.Versions {
		stages[v.ID] = v.Stages
	}
	return stages
}

func (e *Engine) describe(r request) (any, error) {
	id, err := r.secretID()
	if err != nil {
		return nil, err
	}
	s, _, err := e.find(id)
	if err != nil {
		return nil, err
	}
	d := s.describe()
	d.VersionIDsToStages = s.stages()
	return d, nil
}

// page is the response of ListSecrets.
type page struct {
	SecretList []description
	NextToken  string `json:",omitempty"`
}

const mostListed = 100

func (e *Engine) list(r request) (any, error) {
	var planned bool
	most := mostListed
	if err := read(r, "IncludePlannedDeletion", &planned); err != nil {
		return nil, err
	}
	if err := read(r, "MaxResults", &most); err != nil {
		return nil, err
	}
	if most < 1 || most > mostListed {
		return nil, invalid("maxResults", "Member must be between 1 and 100")
	}
	token, err := r.text("NextToken", false, 1, 4096)
	if err != nil {
		return nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(after) > 0 && !validName(string(after)) {
		return nil, errNextToken
	}
	out := page{SecretList: []description{}}
	all := e.all()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name <= string(after) || all[name].isDeleted() && !planned {
			continue
		}
		if len(out.SecretList) == most {
			out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(out.SecretList[most-1].Name))
			break
		}
		d := all[name].describe()
		d.SecretVersionsToStages = all[name].stages()
		out.SecretList = append(out.SecretList, d)
	}
	return out, nil
}
