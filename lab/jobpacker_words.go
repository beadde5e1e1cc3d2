package lab

var jobpackerGroup = Group{
	ID: "jobpacker", Name: "Optical circuits",
}
