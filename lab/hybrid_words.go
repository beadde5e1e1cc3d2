package lab

var hybridGroup = Group{
	ID: "hybrid", Name: "Scale-up beside scale-out machines",
}
