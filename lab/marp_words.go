package lab

var marpGroup = Group{
	ID: "marp", Name: "Admission of application masters",
}
