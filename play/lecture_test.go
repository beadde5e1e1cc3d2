package play

import "testing"

// TestLecturesThatAreRefused: a lecture has a heading, a text and a closed block of JSON; a sweep, where it has one, is JSON too.
func TestLecturesThatAreRefused(t *testing.T) {
	const good = "# A title\n\nSay\nthis.\n\nAnd that.\n\n```sweep\n{\"a\": 1}\n```\n\n```json\n{}\n```\n"
	got, err := parseLecture("03-name", good)
	if err != nil || got.Name != "name" || got.Title != "A title" || got.Text != "Say this.\n\nAnd that." || string(got.Scenario) != "{}\n" || string(got.Sweep) != "{\"a\": 1}\n" {
		t.Errorf("%+v, %v", got, err)
	}
	for what, text := range map[string]string{
		"no heading":   "# A title",
		"no scenario":  "# A title\n\nSay this.\n",
		"left open":    "# A title\n\n```json\n{}\n",
		"no JSON":      "# A title\n\n```json\n{\n```\n",
		"no JSON here": "# A title\n\n```sweep\n{\n```\n\n```json\n{}\n```\n",
	} {
		if got, err := parseLecture("03-name", text); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
